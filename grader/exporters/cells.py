"""Cells of CSV files: numbers as short as they are exact, text that no spreadsheet takes for a formula."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

__all__ = ["cell", "csv_bytes"]

# What spreadsheets start a formula with, full-width forms included; OWASP, "CSV Injection".
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def cell(value: object) -> str:
    """One value as text. A word that a spreadsheet would compute gets an apostrophe in front."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        return f"{round(value, 6):.6f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
    text = str(value).replace("\0", "")
    return "'" + text if text.lstrip(" ").startswith(_FORMULA) else text


def csv_bytes(rows: Iterable[Sequence[object]]) -> bytes:
    """The rows as CSV by RFC 4180, in UTF-8."""
    out = io.StringIO(newline="")
    csv.writer(out).writerows([cell(value) for value in row] for row in rows)
    return out.getvalue().encode("utf-8", "replace")
