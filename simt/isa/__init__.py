"""The instruction table of PTX: `lookup` and `form_of` name a form, `TABLE` is the whole of it as a mapping."""

from __future__ import annotations

from simt.isa.operands import MalformedInstruction, form_of, operands_of
from simt.isa.table import FAMILIES, ROWS, TABLE, UnsupportedInstruction, lookup

__all__ = [
    "FAMILIES",
    "ROWS",
    "TABLE",
    "MalformedInstruction",
    "UnsupportedInstruction",
    "form_of",
    "lookup",
    "operands_of",
]
