"""Fragment layouts as constants of the generated code."""

from __future__ import annotations

import numpy as np
from llvmlite import ir

from simt.codegen.writer import Writer
from simt.engine.layouts import Element, Layout
from simt.isa.fragments import Fragment, Pieces, pieces

__all__ = ["layout_constant"]

_ALIGN = 32  # CUDA C++ Programming Guide, "Warp Matrix Functions": pointers are aligned to 256 bits


def layout_constant(w: Writer, name: str, held: Fragment, is_row_major: bool = True, at_once: bool = False) -> ir.Value:
    """A pointer to the `Layout` of a fragment, one constant for each name; `at_once` where LDSM reads it."""
    name = f"layout.{name}.{held.rows}x{held.cols}.{held.type}.{'row' if is_row_major else 'col'}"
    known = w.module.globals.get(name)
    if known is None:
        data = bytearray(_record(held, pieces(held, is_row_major), is_row_major, at_once))
        kind = ir.ArrayType(ir.IntType(8), len(data))
        known = ir.GlobalVariable(w.module, kind, name)
        known.global_constant, known.linkage, known.align = True, "private", 64
        known.initializer = ir.Constant(kind, data)
    return known.bitcast(ir.PointerType())


def _record(held: Fragment, moved: Pieces, is_row_major: bool, at_once: bool) -> bytes:
    record = Layout.structure()()
    record.kind = Element[held.type.upper()]
    record.n_elements, record.element_bytes = len(held.places), held.element_bytes
    record.n_minor, record.n_requests, record.width = moved.n_minor, len(moved.major), moved.width
    record.tiles = moved.tiles if at_once else 0
    record.align_bytes = min(_ALIGN, len(held.places) * held.element_bytes, moved.n_minor * held.element_bytes)
    row, col = np.divmod(held.places, held.cols)
    stored = held.places if is_row_major else col * held.rows + row
    for name, table in (("places", held.places), ("stored", stored), ("major", moved.major), ("minor", moved.minor)):
        getattr(record, name)[: table.size] = table.ravel().tolist()
    return bytes(record)
