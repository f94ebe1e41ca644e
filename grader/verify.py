"""Are the outputs right? Every element against the float64 reference, within the error budget.

A comparison never passes NaN: an element counts as right only where a finite error is within the budget, or where the
reference itself is not finite and the output agrees.
"""

from __future__ import annotations

import fnmatch
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from grader.model import Compiled, Exercise, Fault, RunResult, Tolerance
from grader.overflow import product_line
from simt.diagnostics import Diagnostic, diagnose
from simt.launch import Dim3, LaunchConfig

__all__ = ["Check", "call_with", "is_right", "name_faults", "name_launch_faults", "verify"]

SHOWN = 3  # bad elements an output shows
PIECE = 1 << 15  # elements compared at a time


@dataclass(frozen=True, slots=True)
class Check:
    """What a comparison found: findings, and the first bad elements.

    A bad element is {output, index, got, want, thread}: `thread` names the thread that wrote it last, is -1 when none
    did, and is left out where that is not known.
    """

    diagnostics: tuple[Diagnostic, ...] = ()
    first_bad: tuple[Mapping[str, object], ...] = ()


def call_with(function: Callable, inputs: Mapping[str, object], sizes: Mapping[str, int]):
    """`function` called with those of the inputs and sizes that it names; `sizes` itself by that name."""
    given = {**sizes, **inputs, "sizes": sizes}
    parameters = inspect.signature(function).parameters
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()):
        return function(**inputs)
    return function(**{name: given[name] for name in parameters if name in given})


def is_right(got: np.ndarray, want: np.ndarray, tolerance: Tolerance) -> np.ndarray:
    """Element by element: is `got` within `tolerance` of `want`? Exact tolerance compares in the type of `got`."""
    want = np.asarray(want)
    if got.size <= PIECE or got.shape != want.shape:
        return _is_right(got, want, tolerance)
    # Piece by piece, so that what lies between stays in the processor's cache: three times as fast.
    flat_got, flat_want = got.reshape(-1), want.reshape(-1)
    right = np.empty(got.size, bool)
    for start in range(0, got.size, PIECE):
        piece = slice(start, start + PIECE)
        right[piece] = _is_right(flat_got[piece], flat_want[piece], tolerance)
    return right.reshape(got.shape)


def _is_right(got: np.ndarray, want: np.ndarray, tolerance: Tolerance) -> np.ndarray:
    if got.dtype.kind in "iub" and tolerance == Tolerance(why=tolerance.why):
        return got == want
    if tolerance.relative == 0 and tolerance.absolute == 0:
        with np.errstate(over="ignore"):
            want = np.asarray(want).astype(got.dtype)
    got, want = got.astype(np.float64), np.asarray(want, np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        budget = tolerance.absolute + tolerance.relative * np.abs(want)
        close = (np.abs(got - want) <= budget) & np.isfinite(want)
        if close.all():  # as nearly always; a finite budget also says that `got` is finite
            return close
        close &= np.isfinite(got)
        return close | (np.isnan(got) & np.isnan(want)) | (np.isinf(want) & (got == want))


def verify(
    exercise: Exercise,
    result: RunResult,
    want: Mapping[str, np.ndarray],
    config: LaunchConfig,
    compiled: Compiled | None = None,
) -> Check:
    """Findings about the outputs of one run, and about inputs that it changed."""
    findings = [_modified(name) for name in result.modified_inputs]
    first_bad: list[Mapping[str, object]] = []
    unwritten = any(finding.check == "coverage.unwritten-output" for finding in result.diagnostics)
    for name, reference in want.items():
        if name not in result.outputs:
            message = f"the device returned no output `{name}`"
            findings.append(diagnose("wrong-result", message, help="this is a fault of the grader: please report it"))
            continue
        comparison = _Comparison(name, result, np.asarray(reference), exercise.tolerance.get(name, Tolerance()), config)
        if comparison.n_bad:
            first_bad += comparison.elements()
            if not (unwritten and comparison.only_unwritten):
                findings.append(comparison.finding(compiled))
    return Check(tuple(findings), tuple(first_bad))


def _modified(name: str) -> Diagnostic:
    return diagnose(
        "input-modified",
        f"the kernel changed its input `{name}`",
        help=f"`{name}` belongs to the caller: declare it const and write only to the output",
    )


class _Comparison:
    """One output beside its reference."""

    def __init__(self, name: str, result: RunResult, want: np.ndarray, tolerance: Tolerance, config: LaunchConfig):
        self.name, self.config = name, config
        self.got = result.outputs[name]
        self.want = want.reshape(self.got.shape)
        self.tolerance = tolerance
        self.bad = np.flatnonzero(~is_right(self.got, self.want, tolerance).ravel())
        self.n_bad = self.bad.size
        self.writers = (result.writers or {}).get(name)

    def writer(self, flat: int) -> int | None:
        """Linear id of the thread that wrote element `flat`, -1 for none, None when it is not known."""
        if self.writers is None:
            return None
        word = flat * self.got.itemsize // 4
        return int(self.writers[word]) if word < len(self.writers) else None

    @property
    def only_unwritten(self) -> bool:
        """True when no bad element was written by any thread, as far as that is known."""
        if self.writers is None:
            nan = np.isnan(self.got.ravel()[self.bad]) if self.got.dtype.kind == "f" else np.zeros(self.n_bad, bool)
            return bool(nan.all())
        words = self.bad * self.got.itemsize // 4
        return bool((self.writers[words] < 0).all())

    def elements(self) -> list[Mapping[str, object]]:
        """The first bad elements."""
        return [self._element(int(flat)) for flat in self.bad[:SHOWN]]

    def _element(self, flat: int) -> Mapping[str, object]:
        index = tuple(int(i) for i in np.unravel_index(flat, self.got.shape))
        row = {
            "output": self.name,
            "index": index,
            "got": self.got.ravel()[flat].item(),
            "want": self.want.ravel()[flat].item(),
        }
        writer = self.writer(flat)
        if writer is not None:
            row["thread"] = _thread_text(writer, self.config) if writer >= 0 else -1
        return row

    def finding(self, compiled: Compiled | None) -> Diagnostic:
        """The finding for this output: an overflow where one explains it, NaN, or another value."""
        flat = int(self.bad[0])
        row = self._element(flat)
        where = f"{self.name}[{','.join(str(i) for i in row['index'])}]"  # type: ignore[attr-defined]
        counted = f"{self.n_bad} of {self.got.size} elements are wrong"
        by = f"; {row['thread']} wrote it" if isinstance(row.get("thread"), str) else ""
        got, want = _apart(row["got"], row["want"])
        if self._wraps():
            return diagnose(
                "wrong-result+int-overflow",
                f"{where} = {got}, expected {want}: a 32-bit product overflowed ({want} is beyond 2147483647); {counted}",
                line=product_line(compiled) if compiled else None,
                help="widen before the product: (long long)a * b computes in 64 bits, (long long)(a * b) does not",
            )
        finite = np.isfinite(np.asarray(row["want"], np.float64))
        if finite and not np.isfinite(np.asarray(row["got"], np.float64)):
            nan = int(np.count_nonzero(~np.isfinite(self.got.ravel()[self.bad].astype(np.float64))))
            return diagnose(
                "wrong-result.nan",
                f"{where} = {got}, expected {want}: {nan} of {self.got.size} values are NaN or infinite{by}",
                help="NaN comes from 0/0, from inf - inf, from the root of a negative number, or from memory that nothing "
                "was written to",
            )
        return diagnose(
            "wrong-result",
            f"{where} = {got}, expected {want}: {counted}{by}",
            help=_wrong_help(self.got, self.want, self.tolerance),
        )

    def _wraps(self) -> bool:
        """True when every bad element is its reference cut to 32 bits: a 64-bit value made by a 32-bit product."""
        if self.got.dtype.kind not in "iu" or self.got.itemsize != 8:
            return False
        got, want = self.got.ravel()[self.bad].astype(np.int64), self.want.ravel()[self.bad].astype(np.int64)
        return bool((got == want.astype(np.int32)).all() or (got == want.astype(np.uint32)).all())


def _thread_text(linear: int, config: LaunchConfig) -> str:
    """`thread (3,0,0) of block (1,0,0)` for a linear thread id of the whole grid."""
    block, thread = divmod(linear, config.block.volume)
    return f"thread {_place(thread, config.block)} of block {_place(block, config.grid)}"


def _place(linear: int, sizes: Dim3) -> str:
    return f"({linear % sizes.x},{linear // sizes.x % sizes.y},{linear // (sizes.x * sizes.y)})"


def _apart(got: object, want: object) -> tuple[str, str]:
    """Both numbers with as many digits as tell them apart."""
    for digits in (7, 9, 12, 17):
        shown = _number(got, digits), _number(want, digits)
        if shown[0] != shown[1]:
            break
    return shown


def _number(value: object, digits: int = 7) -> str:
    if isinstance(value, float):
        return "NaN" if value != value else f"{value:.{digits}g}"
    return str(value)


def _wrong_help(got: np.ndarray, want: np.ndarray, tolerance: Tolerance) -> str:
    square = got.ndim == 2 and got.shape[0] == got.shape[1] and got.shape[0] > 1
    if square and bool(is_right(got, want.T, tolerance).all()):
        return "the output is the transposed of what is asked: rows and columns are mixed up in an index"
    if got.size > 1 and bool(is_right(np.roll(got.ravel(), -1), want.ravel(), tolerance)[:-1].all()):
        return "every value stands one element too far: an index is off by one"
    return "follow the index of this element through the kernel: which thread should write it, from which inputs?"


def name_faults(
    exercise: Exercise,
    result: RunResult,
    findings: tuple[Diagnostic, ...],
    inputs: Mapping[str, object],
    sizes: Mapping[str, int],
    want: Mapping[str, np.ndarray],
) -> tuple[Diagnostic, ...]:
    """`findings` of one case, with the name of the exercise's fault, where one is recognised, at the start of a help.

    One name at most: of several faults that fit equally well the first in the exercise's table.
    """
    exact: list[tuple[Fault, list[Diagnostic]]] = []
    by_slug: list[tuple[Fault, list[Diagnostic]]] = []
    for fault in exercise.faults:
        hits = _hits(fault, findings)
        outputs_match = bool(fault.wrong_reference) and _equals_wrong(exercise, fault, result, inputs, sizes, want)
        if outputs_match:
            exact.append((fault, hits or [f for f in findings if f.check.startswith(("wrong-result", "coverage"))]))
        elif hits:
            (exact if fault.message else by_slug).append((fault, hits))
    return _named(findings, [match for match in (*exact, *by_slug) if match[1]])


def name_launch_faults(exercise: Exercise, findings: tuple[Diagnostic, ...]) -> tuple[Diagnostic, ...]:
    """As `name_faults`, for findings about a launch that is refused before anything runs."""
    return _named(findings, [(fault, hits) for fault in exercise.faults if (hits := _hits(fault, findings))])


def _hits(fault: Fault, findings: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The errors that `fault` is known by."""
    if _ruled_out(fault, findings):
        return []
    return [finding for finding in findings if finding.severity == "error" and _matches(fault, finding)]


def _named(
    findings: tuple[Diagnostic, ...], matches: Sequence[tuple[Fault, list[Diagnostic]]]
) -> tuple[Diagnostic, ...]:
    if not matches:
        return findings
    fault, hits = matches[0]
    return tuple(_with_name(finding, fault) if finding is hits[0] else finding for finding in findings)


def _matches(fault: Fault, finding: Diagnostic) -> bool:
    slug = any(fnmatch.fnmatchcase(finding.check, pattern) for pattern in fault.checks)
    return slug and (not fault.message or re.search(fault.message, finding.message) is not None)


def _ruled_out(fault: Fault, findings: Iterable[Diagnostic]) -> bool:
    return any(fnmatch.fnmatchcase(finding.check, pattern) for finding in findings for pattern in fault.absent)


def _equals_wrong(
    exercise: Exercise,
    fault: Fault,
    result: RunResult,
    inputs: Mapping[str, object],
    sizes: Mapping[str, int],
    want: Mapping[str, np.ndarray],
) -> bool:
    """True when the outputs are what the fault computes, in a case where that differs from the reference."""
    assert fault.wrong_reference is not None
    wrong = call_with(fault.wrong_reference, inputs, sizes)
    differs = False
    for name, values in wrong.items():
        tolerance = exercise.tolerance.get(name, Tolerance())
        got = result.outputs.get(name)
        if got is None or np.size(values) != got.size:
            return False
        values = np.asarray(values).reshape(got.shape)
        if not is_right(got, values, tolerance).all():
            return False
        differs |= not is_right(got, np.asarray(want[name]).reshape(got.shape), tolerance).all()
    return differs


def _with_name(finding: Diagnostic, fault: Fault) -> Diagnostic:
    name = f"{fault.name}: {fault.says}" if fault.says else fault.name
    return replace(finding, help=f"{name}. {finding.help}" if finding.help else name)
