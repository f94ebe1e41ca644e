"""Findings that somebody has looked at and accepts: a file of check, kernel, line and reason.

    [[suppress]]
    check = "racecheck.global.WW"     # the slug, or the code RC008
    kernel = "mark_reached"           # as launched, or "*"
    line = 12                         # left out: any line
    reason = "every thread writes the same flag"

A suppressed finding is reported as such and refuses nothing. An entry that meets no finding is a finding itself, so that
the file does not outlive what it is about.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from simt.diagnostics import CATALOGUE, Diagnostic, diagnose
from simt.kernel_names import plain_name

__all__ = ["Suppressed", "Suppression", "SuppressionFileError", "find_suppression", "read_suppressions", "unused"]

_KEYS = ("check", "kernel", "line", "reason")
ANY_KERNEL = "*"
_CODES = {row.code: slug for slug, row in CATALOGUE.items()}


class SuppressionFileError(ValueError):
    """What is wrong in a suppression file; `help` is the next step."""

    def __init__(self, message: str, help: str = ""):
        super().__init__(message)
        self.help = help


@dataclass(frozen=True, slots=True)
class Suppression:
    """One entry: `check` is a slug, `kernel` a name or "*", `line` None for any line; `number` counts from 1 in the file."""

    check: str
    kernel: str
    line: int | None
    reason: str
    number: int

    def meets(self, finding: Diagnostic, kernels: Iterable[str]) -> bool:
        """Whether this is about a finding of a launch whose kernel has these names."""
        named = self.kernel == ANY_KERNEL or self.kernel in kernels
        return named and finding.check == self.check and self.line in (None, finding.line)


@dataclass(frozen=True, slots=True)
class Suppressed:
    """A finding and the entry that accepts it."""

    finding: Diagnostic
    entry: Suppression


def read_suppressions(path: Path) -> tuple[Suppression, ...]:
    """The entries of a suppression file; raises `SuppressionFileError`."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise SuppressionFileError(
            f"cannot read {path}: {reason}", "give --suppress the path of a .toml file"
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise SuppressionFileError(f"{path} is not TOML: {error}", "an entry starts with [[suppress]]") from None
    rows = table.get("suppress", [])
    if set(table) - {"suppress"} or not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise SuppressionFileError(
            f"{path} holds something else than [[suppress]] tables", "an entry starts with [[suppress]]"
        )
    return tuple(_entry(row, number) for number, row in enumerate(rows, 1))


def _entry(row: Mapping, number: int) -> Suppression:
    where = f"[[suppress]] number {number}"
    unknown = sorted(set(row) - set(_KEYS))
    if unknown:
        raise SuppressionFileError(f"{where} has an unknown key `{unknown[0]}`", f"an entry has {', '.join(_KEYS)}")
    for key in ("check", "kernel", "reason"):
        if not isinstance(row.get(key), str) or not row[key].strip():
            raise SuppressionFileError(f"{where} has no {key}", f'write {key} = "…"')
    check = _CODES.get(row["check"], row["check"])
    if check not in CATALOGUE:
        raise SuppressionFileError(
            f"{where}: no check is called {check!r}", "docs/diagnostics.md lists slugs and codes"
        )
    line = row.get("line")
    if line is not None and (type(line) is not int or line < 1):
        raise SuppressionFileError(
            f"{where}: line = {line!r} is no line", "lines count from 1; leave it out for any line"
        )
    return Suppression(check, row["kernel"], line, row["reason"], number)


def find_suppression(
    finding: Diagnostic, kernel: str, expression: str | None, entries: Iterable[Suppression]
) -> Suppression | None:
    """The first entry that accepts a finding of a launch.

    Args:
        kernel: the entry's name in the PTX; its plain C++ name counts as well.
        expression: the instance launched, `gemm<128, 8>`, or None.
    """
    names = {kernel, plain_name(kernel), *((expression,) if expression else ())}
    return next((entry for entry in entries if entry.meets(finding, names)), None)


def unused(entries: Iterable[Suppression], used: Iterable[Suppressed], name: str) -> tuple[Diagnostic, ...]:
    """A finding for each entry of the file `name` that met none."""
    met = {row.entry for row in used}
    return tuple(
        diagnose(
            "suppress.unused",
            f"{name}, entry {entry.number}: nothing to suppress, `{entry.check}` was not found in {_place(entry)}",
            help="delete the entry, or correct its kernel or line",
        )
        for entry in entries
        if entry not in met
    )


def _place(entry: Suppression) -> str:
    kernel = "any kernel" if entry.kernel == ANY_KERNEL else f"`{entry.kernel}`"
    return kernel + (f", line {entry.line}" if entry.line else "")
