"""Moves between registers, and packing and unpacking of vectors: mov.

A `mov` of a special register or of an address is another role's; `simt.isa.operands` tells them apart.
"""

from __future__ import annotations

import numpy as np

from simt.isa.op import Form, Op, Shape
from simt.isa.shapes import same
from simt.ptx.types import TYPES, PtxType

__all__ = ["ROWS"]

_SECTION = "Data Movement and Conversion Instructions: mov"


def _count(form: Form) -> int:
    return int(form.mods[1].removeprefix("unpack").removeprefix("pack"))


def _item(form: Form) -> PtxType:
    return TYPES[f"b{form.type.bits // _count(form)}"]


def _pack_shape(form: Form) -> Shape:
    return Shape((form.type,), (_item(form),) * _count(form))


def _unpack_shape(form: Form) -> Shape:
    return Shape((_item(form),) * _count(form), (form.type,))


def _pack(form, *items):
    return np.ascontiguousarray(np.stack(items, axis=1)).view(form.type.dtype)[:, 0]


def _unpack(form, a):
    items = np.ascontiguousarray(a)[:, None].view(_item(form).dtype)
    return tuple(items[:, index] for index in range(_count(form)))


def _emit_pack(e, form, *items):
    width, result = e.width(items[0]), None
    for index, item in enumerate(items):
        part = e.zext(item, form.type.bits)
        result = part if result is None else e.or_(result, e.shl(part, index * width))
    return result


def _emit_unpack(e, form, a):
    width = _item(form).bits
    return tuple(e.trunc(e.lshr(a, index * width) if index else a, width) for index in range(_count(form)))


ROWS = (
    Op("mov", ("mov.{pred,b16,b32,b64,b128,u16,u32,u64,s16,s32,s64,f32,f64}",), shape=same(1),
       eval=lambda form, a: a, emit=lambda e, form, a: a, section=_SECTION),
    Op("mov", ("mov.b16.pack2", "mov.{b32,b64,b128}.{pack2,pack4}"),
       shape=_pack_shape, eval=_pack, emit=_emit_pack, section=_SECTION),
    Op("mov", ("mov.b16.unpack2", "mov.{b32,b64,b128}.{unpack2,unpack4}"),
       shape=_unpack_shape, eval=_unpack, emit=_emit_unpack, section=_SECTION),
)  # fmt: skip
