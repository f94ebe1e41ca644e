"""Launches and their results as bytes: a JSON header and raw arrays, nothing that could run when it is read.

The parent reads what a jailed child wrote, so every field is checked: types, dtypes, sizes.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from grader.model_runs import Compiled, Resources, RunResult
from grader.model_timing import Basis, Timing
from simt.counters import Counters
from simt.diagnostics import CATALOGUE, Diagnostic, Severity
from simt.events import Argument, Budget, Direction, LaunchResult, Status
from simt.launch import Dim3, LaunchConfig
from simt.tensor_map import Fill, Swizzle, TensorMap, backing_arguments

if TYPE_CHECKING:
    from grader.timing.trace import Surroundings, Trace

__all__ = [
    "Launch", "WireProblem", "pack_launch", "pack_result", "pack_trace", "unpack_failure", "unpack_launch",
    "unpack_result", "unpack_trace",
]  # fmt: skip

Message = tuple[bytes, ...]

DTYPE = re.compile(r"[<>|=][biufV]\d{1,4}")  # no objects, no strings, no records: NumPy would evaluate their text
MAX_DIAGNOSTICS = 1000
MAX_TEXT = 4000  # characters of a message
MAX_PRINTED = 128 << 10  # characters; the simulator itself keeps half as many
MAX_HEADER_BYTES = 16 << 20  # a thousand findings and the counters of 64 KiB of text stay far below
ESTIMATE = ("baseline_ns", "student_ns", "device")
TRACE_PLAIN = ("device", "driver", "uuid", "copies", "seed", "l2_bytes", "peak_bandwidth")
SERIES = ("baseline_ns", "student_ns", "baseline_mhz", "student_mhz", "floor_ns")


class WireProblem(ValueError):
    """Bytes that are not what they should be."""


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch as a worker is asked for it."""

    compiled: Compiled
    config: LaunchConfig
    arguments: tuple[Argument, ...]
    budget: Budget
    want_writers: bool
    threads: int | None


class _Arrays:
    """Arrays laid end to end in one part of a message."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._rows: list[dict[str, object]] = []

    def add(self, array: np.ndarray) -> int:
        """The number under which `array` can be taken out again."""
        data = np.ascontiguousarray(array)
        self._parts.append(data.tobytes())
        self._rows.append({"dtype": data.dtype.str, "shape": array.shape})
        return len(self._rows) - 1

    def packed(self, header: dict[str, object]) -> Message:
        return json.dumps(header | {"arrays": self._rows}).encode(), b"".join(self._parts)


def _arrays(header: Mapping, data: bytes) -> list[np.ndarray]:
    found, position = [], 0
    for row in header["arrays"]:
        if not DTYPE.fullmatch(row["dtype"]):
            raise WireProblem(f"an array of {row['dtype'][:40]!r}")
        dtype = np.dtype(row["dtype"])
        shape = tuple(int(size) for size in row["shape"])
        if any(size < 0 for size in shape) or len(shape) > 8:
            raise WireProblem(f"an array of {dtype} and shape {shape}")
        count = int(np.prod(shape, dtype=object)) if shape else 1
        end = position + count * dtype.itemsize
        if end > len(data):
            raise WireProblem("an array is longer than the message")
        found.append(np.frombuffer(data, dtype, count, position).reshape(shape).copy())
        position = end
    return found


def pack_launch(launch: Launch) -> Message:
    """The launch as message parts: header, arrays, PTX, machine code, source."""
    arrays, compiled, config = _Arrays(), launch.compiled, launch.config
    header: dict[str, object] = {
        "kernel": compiled.kernel,
        "arch": compiled.arch,
        "digest": compiled.digest,
        "resources": _plain(compiled.resources),
        "config": _plain(config) | {
            name: value and list(value) for name in ("grid", "block", "cluster") for value in [getattr(config, name)]
        },
        "arguments": [_pack_argument(argument, arrays) for argument in launch.arguments],
        "budget": _plain(launch.budget),
        "want_writers": launch.want_writers,
        "threads": launch.threads,
    }  # fmt: skip
    return (*arrays.packed(header), compiled.ptx.encode(), compiled.cubin, compiled.source.encode())


def _plain(record) -> dict[str, object]:
    return {field.name: getattr(record, field.name) for field in fields(record)}


def _pack_argument(argument: Argument, arrays: _Arrays) -> dict[str, object]:
    row = _plain(argument) | {"direction": str(argument.direction)}
    value = argument.value
    if isinstance(value, (np.ndarray, np.generic)):
        strided = isinstance(value, np.ndarray) and not value.flags.c_contiguous
        return row | {
            "value": None,
            "array": arrays.add(np.asarray(value)),
            "scalar": isinstance(value, np.generic),
            "strides": list(value.strides) if strided else None,
        }
    if isinstance(value, TensorMap):
        backing = value.backing and _pack_argument(value.backing, arrays)
        return row | {"value": None, "array": None, "tensor_map": _plain(value) | {"backing": backing}}
    return row | {"value": value, "array": None}


def unpack_launch(message: Message) -> Launch:
    """The launch in a parent's message."""
    header = json.loads(message[0])
    arrays = _arrays(header, message[1])
    ptx, cubin, source = message[2].decode(), message[3], message[4].decode()
    compiled = Compiled(
        ptx, cubin, header["kernel"], header["arch"], Resources(**header["resources"]), "", header["digest"], source
    )
    config = header["config"]
    for name in ("grid", "block", "cluster"):
        config[name] = config[name] and Dim3.of(config[name])
    return Launch(
        compiled,
        LaunchConfig(**config),
        tuple(_unpack_argument(row, arrays) for row in header["arguments"]),
        Budget(**header["budget"]),
        header["want_writers"],
        header["threads"],
    )


def _unpack_argument(row: dict, arrays: Sequence[np.ndarray]) -> Argument:
    index, scalar, strides = row.pop("array"), row.pop("scalar", False), row.pop("strides", None)
    if described := row.pop("tensor_map", None):
        row["value"] = _tensor_map(described, arrays)
    if index is not None:
        array = arrays[index]
        row["value"] = array[()] if scalar else _restrided(array, strides)
    return Argument(**row | {"direction": Direction(row["direction"])})


def _tensor_map(row: dict, arrays: Sequence[np.ndarray]) -> TensorMap:
    lists = {name: tuple(value) for name, value in row.items() if isinstance(value, list)}
    backing = row["backing"] and _unpack_argument(row["backing"], arrays)
    kinds = {"swizzle": Swizzle(row["swizzle"]), "fill": Fill(row["fill"])}
    return TensorMap(**row | lists | kinds | {"backing": backing})


def _restrided(array: np.ndarray, strides: list[int] | None) -> np.ndarray:
    """`array` with the axes in the order that `strides` had; how far apart elements lay is not kept."""
    if strides is None:
        return array
    order = sorted(range(array.ndim), key=lambda axis: -abs(strides[axis]))
    moved = np.ascontiguousarray(array.transpose(order)).transpose(np.argsort(order))
    if moved.flags.c_contiguous and array.ndim:
        wide = np.repeat(moved, 2, axis=-1)
        return wide[..., ::2]
    return moved


def pack_trace(trace: Trace | Timing | None) -> Message:
    """A round, an estimate in its place, or that there is neither."""
    if trace is None:
        return (b"null", b"")
    if isinstance(trace, Timing):
        return (json.dumps({"estimate": [getattr(trace, name) for name in ESTIMATE]}).encode(), b"")
    arrays = _Arrays()
    header: dict[str, object] = {name: arrays.add(getattr(trace, name)) for name in SERIES}
    header |= {name: getattr(trace, name) for name in TRACE_PLAIN}
    header |= {name: _plain(getattr(trace, name)) for name in ("before", "after")}
    header["checked"] = [
        {"sample": launch.sample, "copy": launch.copy, "outputs": {k: arrays.add(v) for k, v in launch.outputs.items()}}
        for launch in trace.checked
    ]
    header["findings"] = [finding.to_json() for finding in trace.findings]
    return arrays.packed(header)


def unpack_trace(message: Message) -> Trace | Timing | None:
    """The round or the estimate in a child's message.

    Raises:
        WireProblem: it is none, or its times are not finite and positive.
    """
    try:
        header = _header(message[0])
        if header is not None and "estimate" in header:
            return _estimate(*header["estimate"])
        return None if header is None else _trace(header, _arrays(header, message[1]))
    except NONSENSE as error:
        raise _nonsense(error) from None


def _estimate(baseline_ns: float, student_ns: float, device: str) -> Timing:
    baseline, student = float(baseline_ns), float(student_ns)
    if not (0 < baseline < math.inf and 0 < student < math.inf):
        raise WireProblem(f"an estimate of {baseline} and {student} ns")
    ratio = baseline / student
    return Timing(ratio, ratio, ratio, baseline, student, Basis.ESTIMATED, str(device)[:100])


def _trace(header: dict, arrays: Sequence[np.ndarray]) -> Trace:
    from grader.timing.trace import CheckedLaunch, Trace

    series = {name: arrays[header[name]].astype(np.float64).ravel() for name in SERIES}
    if not all((np.isfinite(values) & (values > 0)).all() for values in series.values()):
        raise WireProblem("a time or a clock is not finite and positive")
    if len({series[name].size for name in SERIES[:4]}) != 1:
        raise WireProblem("the halves of the pairs are not equally many")
    baseline_ns, student_ns, baseline_mhz, student_mhz, floor_ns = (series[name] for name in SERIES)
    return Trace(
        baseline_ns, student_ns, baseline_mhz, student_mhz, floor_ns,
        device=str(header["device"])[:100],
        driver=str(header["driver"])[:100],
        uuid=str(header["uuid"])[:100],
        l2_bytes=int(header["l2_bytes"]),
        peak_bandwidth=float(header["peak_bandwidth"]),
        copies=max(1, int(header["copies"])),
        seed=int(header["seed"]),
        before=_surroundings(header["before"]),
        after=_surroundings(header["after"]),
        checked=tuple(
            CheckedLaunch(int(row["sample"]), int(row["copy"]), {str(k): arrays[i] for k, i in row["outputs"].items()})
            for row in header["checked"]
        ),
        findings=tuple(_diagnostic(row) for row in header["findings"][:MAX_DIAGNOSTICS]),
    )  # fmt: skip


def _surroundings(row: dict) -> Surroundings:
    from grader.timing.trace import Surroundings

    return Surroundings(
        _maybe_int(row["sm_mhz"]), _maybe_int(row["memory_mhz"]), _maybe_int(row["temperature"]),
        tuple(str(reason)[:100] for reason in row["throttle"]), int(row["foreign"]),
    )  # fmt: skip


def pack_result(result: RunResult) -> Message:
    """The result as message parts: header and arrays."""
    arrays = _Arrays()
    header: dict[str, object] = {
        "status": str(result.status),
        "outputs": {name: arrays.add(value) for name, value in result.outputs.items()},
        "counters": result.counters.to_json(),
        "by_line": {str(line): counters.to_json() for line, counters in result.by_line.items()},
        "diagnostics": [finding.to_json() for finding in result.diagnostics],
        "blocks_run": result.blocks_run,
        "blocks_total": result.blocks_total,
        "accesses_checked": result.accesses_checked,
        "modified_inputs": result.modified_inputs,
        "writers": None if result.writers is None else {k: arrays.add(v) for k, v in result.writers.items()},
        "printed": result.printed,
        "seconds": result.seconds,
        "checks": sorted(result.checks),
    }
    return arrays.packed(header)


def unpack_result(message: Message, arguments: Sequence[Argument]) -> RunResult:
    """The result in a child's message, of a launch with `arguments`.

    Raises:
        WireProblem: it is no result, or no result of such a launch.
    """
    try:
        result = _result(_header(message[0]), message[1])
        _check_fit(result, arguments)
        return result
    except NONSENSE as error:
        raise _nonsense(error) from None


def _check_fit(result: RunResult, arguments: Sequence[Argument]) -> None:
    """Raises WireProblem for an array that the launch has no such buffer for."""
    everything = (*arguments, *backing_arguments(arguments))
    buffers = {a.name: a.value for a in everything if isinstance(a.value, np.ndarray)}
    for name, array in result.outputs.items():
        if name not in buffers or (array.dtype, array.shape) != (buffers[name].dtype, buffers[name].shape):
            raise WireProblem(f"an output {name[:40]!r} of {array.dtype} and shape {array.shape}")
    if unknown := {*(result.writers or ()), *result.modified_inputs} - buffers.keys():
        raise WireProblem(f"there is no buffer {min(unknown)[:40]!r}")


def unpack_failure(message: Message) -> str:
    """What the child says of a failure of its own."""
    try:
        failure = _header(message[0])
        return f"{_text(failure['error'])}\n{_text(failure.get('trace', ''))}".strip()
    except NONSENSE as error:
        return str(_nonsense(error))


# What reading a hostile header may raise.
NONSENSE = (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError, OverflowError, MemoryError)


def _nonsense(error: BaseException) -> WireProblem:
    return WireProblem(f"the worker answered nonsense: {type(error).__name__}: {_text(str(error), 200)}")


def _header(part: bytes):
    if len(part) > MAX_HEADER_BYTES:
        raise WireProblem(f"a header of {len(part)} bytes")
    return json.loads(part)


def _text(value: object, most: int = MAX_TEXT) -> str:
    """Text that can be written anywhere: cut, and without halves of characters."""
    if not isinstance(value, str):
        raise TypeError(f"text, got {type(value).__name__}")
    return value[:most].encode(errors="replace").decode()


def _seconds(value: object) -> float:
    seconds = float(value)  # type: ignore[arg-type]
    if not 0 <= seconds < math.inf:
        raise WireProblem(f"a time of {seconds} s")
    return seconds


def _result(header: dict, data: bytes) -> RunResult:
    arrays = _arrays(header, data)
    writers = header["writers"]
    return LaunchResult(
        status=Status(header["status"]),
        outputs={str(name): arrays[index] for name, index in header["outputs"].items()},
        counters=_counters(header["counters"]),
        by_line={int(line): _counters(row) for line, row in header["by_line"].items()},
        diagnostics=tuple(_diagnostic(row) for row in header["diagnostics"][:MAX_DIAGNOSTICS]),
        blocks_run=int(header["blocks_run"]),
        blocks_total=int(header["blocks_total"]),
        accesses_checked=int(header["accesses_checked"]),
        modified_inputs=tuple(map(str, header["modified_inputs"])),
        writers=None if writers is None else {str(name): arrays[index] for name, index in writers.items()},
        printed=_text(header["printed"], MAX_PRINTED),
        seconds={_text(name): _seconds(value) for name, value in header["seconds"].items()},
        checks=frozenset(map(str, header["checks"])),
    )


COUNTERS = frozenset(field.name for field in fields(Counters))


def _counters(row: dict) -> Counters:
    return Counters(**{name: int(value) for name, value in row.items() if name in COUNTERS})


def _diagnostic(row: dict) -> Diagnostic:
    """A finding of the catalogue; code and severity are the catalogue's, whatever the child says."""
    known = CATALOGUE[row["check"]]
    block = row["block"] and tuple(int(part) for part in row["block"])
    return Diagnostic(
        known.slug,
        known.code,
        Severity(known.severity),
        _text(row["message"]),
        line=_maybe_int(row["line"]),
        also_line=_maybe_int(row["also_line"]),
        block=block,
        lanes=tuple(int(lane) for lane in row["lanes"])[:32],
        warp=_maybe_int(row["warp"]),
        address=_maybe_int(row["address"]),
        help=_text(row["help"]),
    )


def _maybe_int(value: object) -> int | None:
    return None if value is None else int(value)  # type: ignore[call-overload]
