"""Where a kernel declares the memory order of a wmma operand."""

from __future__ import annotations

import re

__all__ = ["fragment_line"]

_DECLARED = re.compile(r"fragment\s*<[^;>]*\bmatrix_(?P<side>[ab])\b[^;>]*\b(?:row|col)_major\b")


def fragment_line(source: str, side: str) -> int | None:
    """The line of the only fragment of matrix `a` or `b` that says row_major or col_major, None for none or several."""
    found = [source.count("\n", 0, match.start()) + 1 for match in _DECLARED.finditer(source) if match["side"] == side]
    return found[0] if len(found) == 1 else None
