"""Static shared arrays of a PTX text, matched with the lines that declare them."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["SharedArray", "shared_arrays"]

DECLARATION = re.compile(r"^\s*\.shared\s+(?:\.align\s+\d+\s+)?\.b(\d+)\s+([\w$.]+)(?:\[(\d+)\])?\s*;", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class SharedArray:
    """One array: its name in the source, bytes, and line (None where the text does not show it)."""

    name: str
    size_bytes: int
    line: int | None


def shared_arrays(ptx: str, source: str) -> tuple[SharedArray, ...]:
    """Every static shared variable that `ptx` declares, in its order."""
    rows = []
    for bits, mangled, count in DECLARATION.findall(ptx):
        name = _variable(mangled)
        rows.append(SharedArray(name, int(bits) // 8 * int(count or 1), _line(source, name)))
    return tuple(rows)


def _variable(mangled: str) -> str:
    """`tile` for `_ZZ4gemmE4tile`, a variable local to a function; other names as they are."""
    match = re.match(r"_ZZ.*E(\d+)(\w+)$", mangled)
    return match[2][: int(match[1])] if match else mangled


def _line(source: str, name: str) -> int | None:
    for number, line in enumerate(source.split("\n"), 1):
        if "__shared__" in line and re.search(rf"\b{re.escape(name)}\b", line):
            return number
    return None
