"""All hand-written rows."""

from tests.simt.isa import rows_float, rows_half, rows_integer, rows_scalar

__all__ = ["ROWS"]

ROWS = (*rows_integer.ROWS, *rows_float.ROWS, *rows_half.ROWS, *rows_scalar.ROWS)
