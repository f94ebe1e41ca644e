"""Counting, finding, extracting and permuting bits and bytes: popc clz bfind fns brev bfe bfi bmsk szext prmt dp4a dp2a."""

from __future__ import annotations

import numpy as np

from simt.isa.op import Form, Op, Shape
from simt.isa.shapes import U32, of, same
from simt.ptx.types import TYPES

__all__ = ["ROWS"]

_INTEGER = "Integer Arithmetic Instructions: "
_NONE = 0xFFFFFFFF


def _bit_columns(a: np.ndarray) -> np.ndarray:
    """(32, width) of 0 and 1, bit 0 first."""
    width = 8 * a.dtype.itemsize
    return (a.view(f"uint{width}")[:, None] >> np.arange(width, dtype=f"uint{width}") & 1).astype(np.uint8)


def _from_columns(columns: np.ndarray, dtype: str) -> np.ndarray:
    unsigned = f"uint{columns.shape[1]}"
    weights = np.array(1, unsigned) << np.arange(columns.shape[1], dtype=unsigned)
    return (columns.astype(unsigned) * weights).sum(axis=1, dtype=unsigned).view(dtype)


def _highest(a: np.ndarray) -> np.ndarray:
    """Position of the highest set bit, -1 for zero."""
    return np.array([int(value).bit_length() - 1 for value in a.view(f"uint{8 * a.dtype.itemsize}")])


def _popc(form, a):
    return _bit_columns(a).sum(axis=1).astype(np.uint32)


def _emit_popc(e, form, a):
    return e.resize(e.intrinsic("llvm.ctpop", a), 32)


def _clz(form, a):
    return (form.type.bits - 1 - _highest(a)).astype(np.uint32)


def _emit_clz(e, form, a):
    return e.resize(e.flagged("llvm.ctlz", a), 32)


def _bfind(form, a):
    position = _highest(np.where(a < 0, ~a, a) if form.type.is_signed else a)
    if form.has("shiftamt"):
        position = np.where(position < 0, -1, form.type.bits - 1 - position)
    return position.astype(np.int32).view(np.uint32)


def _emit_bfind(e, form, a):
    if form.type.is_signed:
        a = e.xor(a, e.ashr(a, form.type.bits - 1))
    leading = e.resize(e.flagged("llvm.ctlz", a), 32)
    found = leading if form.has("shiftamt") else e.sub(e.const(leading, form.type.bits - 1), leading)
    return e.select(e.icmp("==", a, 0), _NONE, found)


def _fns(form, mask, base, offset):
    result = np.full(mask.shape, _NONE, np.uint32)
    columns = _bit_columns(mask)
    for lane in range(mask.size):
        position, step = int(base[lane]), 1 if offset[lane] > 0 else -1
        wanted = abs(int(offset[lane]))
        if wanted == 0:
            if position < 32 and columns[lane, position]:
                result[lane] = position
            continue
        while 0 <= position < 32:
            wanted -= int(columns[lane, position])
            if wanted == 0:
                result[lane] = position
                break
            position += step
    return result


def _emit_fns(e, form, mask, base, offset):
    """Mirrors the mask for a search downwards, so that the answer is the n-th set bit from the bottom."""
    down = e.icmp("<", offset, 0, signed=True)
    in_range = e.icmp("<", base, 32)
    base = e.and_(base, 31)
    start = e.select(down, e.sub(e.const(base, 31), base), base)
    left = e.and_(e.select(down, e.intrinsic("llvm.bitreverse", mask), mask), e.shl(e.const(mask, -1), start))
    only_base = e.icmp("==", offset, 0)
    left = e.select(only_base, e.and_(left, e.shl(e.const(mask, 1), start)), left)
    skipped = e.select(only_base, 0, e.sub(e.flagged("llvm.abs", offset), 1))
    for index in range(31):
        left = e.select(e.icmp(">", skipped, index), e.and_(left, e.sub(left, 1)), left)
    position = e.flagged("llvm.cttz", left)
    position = e.select(down, e.sub(e.const(position, 31), position), position)
    found = e.and_(e.and_(e.icmp("!=", left, 0), e.icmp("<", skipped, 32)), in_range)
    return e.select(found, position, _NONE)


def _brev(form, a):
    return _from_columns(_bit_columns(a)[:, ::-1], form.type.dtype)


def _emit_brev(e, form, a):
    return e.intrinsic("llvm.bitreverse", a)


def _field(form: Form, position, length):
    """(position, length), which the ISA restricts to 0..255.

    Past that an H200 reads the low 8 bits for a 32-bit field and takes the whole register for a 64-bit one.
    """
    wide = form.type.bits == 64
    return tuple((np.minimum(x, 255) if wide else x & 255).astype(int)[:, None] for x in (position, length))


def _emit_field(e, form: Form, position, length):
    """`_field` in IR, as wide as the operation's type."""
    width = form.type.bits
    if width == 32:
        return e.and_(position, 255), e.and_(length, 255)
    return e.zext(position, width), e.zext(length, width)


def _bfe(form, a, b, c):
    width = form.type.bits
    position, length = _field(form, b, c)
    columns, index = _bit_columns(a), np.arange(width)[None, :]
    last = np.minimum(position + length - 1, width - 1)
    fill = np.where(length == 0, 0, np.take_along_axis(columns, np.maximum(last, 0), axis=1)) * form.type.is_signed
    inside = (index < length) & (position + index < width)
    moved = np.take_along_axis(columns, np.minimum(position + index, width - 1), axis=1)
    return _from_columns(np.where(inside, moved, fill), form.type.dtype)


def _emit_bfe(e, form, a, b, c):
    width = form.type.bits
    position, length = _emit_field(e, form, b, c)
    start = e.intrinsic("llvm.umin", position, e.const(position, width - 1))
    empty = e.icmp("==", length, 0)
    if form.type.is_signed:
        unused = e.sub(e.const(length, width), e.intrinsic("llvm.umin", length, e.const(length, width)))
        unused = e.intrinsic("llvm.umin", unused, e.const(unused, width - 1))
        return e.select(empty, 0, e.ashr(e.shl(e.ashr(a, start), unused), unused))
    moved = e.select(e.icmp("<", position, width), e.lshr(a, start), 0)
    return e.and_(moved, _low_mask(e, length, width))


def _low_mask(e, length, width: int):
    """`length` ones at the bottom; `length` may exceed the width."""
    clamped = e.intrinsic("llvm.umin", length, e.const(length, width - 1))
    ones = e.sub(e.shl(e.const(length, 1), clamped), 1)
    return e.select(e.icmp("<", length, width), ones, -1)


def _bfi(form, a, b, c, d):
    width = form.type.bits
    position, length = _field(form, c, d)
    index = np.arange(width)[None, :]
    inside = (index >= position) & (index < position + length)
    source = np.take_along_axis(_bit_columns(a), np.clip(index - position, 0, width - 1), axis=1)
    return _from_columns(np.where(inside, source, _bit_columns(b)), form.type.dtype)


def _emit_bfi(e, form, a, b, c, d):
    width = form.type.bits
    position, length = _emit_field(e, form, c, d)
    start = e.intrinsic("llvm.umin", position, e.const(position, width - 1))
    mask = e.select(e.icmp("<", position, width), e.shl(_low_mask(e, length, width), start), 0)
    return e.or_(e.and_(e.shl(a, start), mask), e.and_(b, e.not_(mask)))


def _bmsk(form, a, b):
    position, length = (a, b) if form.has("clamp") else (a & 31, b & 31)
    index = np.arange(32)[None, :]
    position, length = position.astype(int)[:, None], length.astype(int)[:, None]
    return _from_columns((index >= position) & (index < position + length), "uint32")


def _emit_bmsk(e, form, a, b):
    if form.has("wrap"):
        a, b = e.and_(a, 31), e.and_(b, 31)
    start = e.intrinsic("llvm.umin", a, e.const(a, 31))
    return e.select(e.icmp("<", a, 32), e.shl(_low_mask(e, b, 32), start), 0)


def _szext(form, a, b):
    length = (b & 31 if form.has("wrap") else np.minimum(b, 32)).astype(int)[:, None]
    columns, index = _bit_columns(a), np.arange(32)[None, :]
    sign = np.take_along_axis(columns, np.maximum(length - 1, 0), axis=1) * form.type.is_signed
    return _from_columns(np.where(index < length, columns, np.where(length > 0, sign, 0)), form.type.dtype)


def _emit_szext(e, form, a, b):
    length = e.and_(b, 31) if form.has("wrap") else e.intrinsic("llvm.umin", b, e.const(b, 32))
    empty = e.icmp("==", length, 0)
    unused = e.select(empty, 0, e.sub(e.const(length, 32), length))
    right = e.ashr if form.type.is_signed else e.lshr
    return e.select(empty, 0, right(e.shl(a, unused), unused))


_PRMT_MODES = {  # byte picked for each of the four results, by the low two bits of the selector
    "f4e": ((0, 1, 2, 3), (1, 2, 3, 4), (2, 3, 4, 5), (3, 4, 5, 6)),
    "b4e": ((0, 7, 6, 5), (1, 0, 7, 6), (2, 1, 0, 7), (3, 2, 1, 0)),
    "rc8": ((0, 0, 0, 0), (1, 1, 1, 1), (2, 2, 2, 2), (3, 3, 3, 3)),
    "ecl": ((0, 1, 2, 3), (1, 1, 2, 3), (2, 2, 2, 3), (3, 3, 3, 3)),
    "ecr": ((0, 0, 0, 0), (0, 1, 1, 1), (0, 1, 2, 2), (0, 1, 2, 3)),
    "rc16": ((0, 1, 0, 1), (2, 3, 2, 3), (0, 1, 0, 1), (2, 3, 2, 3)),
}


def _selector(mode: str) -> list[int]:
    """The default mode's selector for each of the four control values of another mode."""
    return [sum(byte << 4 * index for index, byte in enumerate(row)) for row in _PRMT_MODES[mode]]


def _prmt(form, a, b, c):
    if len(form.mods) == 2:
        c = np.array(_selector(form.mods[1]), np.uint32)[c & 3]
    pair = np.stack([a, b], axis=1).view(np.uint8)
    result = np.zeros((a.size, 4), np.uint8)
    for index in range(4):
        nibble = (c >> np.uint32(4 * index)).astype(int) & 15
        byte = np.take_along_axis(pair, nibble[:, None] & 7, axis=1)[:, 0]
        result[:, index] = np.where(nibble & 8, np.where(byte & 128, 255, 0), byte)
    return result.view(np.uint32)[:, 0]


def _emit_prmt(e, form, a, b, c):
    if len(form.mods) == 2:
        first, *others = _selector(form.mods[1])
        control, c = e.and_(c, 3), e.const(c, first)
        for value, selector in enumerate(others, start=1):
            c = e.select(e.icmp("==", control, value), selector, c)
    pair, known, result = e.joined(a, b), e.literal(c), None
    for index in range(4):
        nibble = e.and_(e.lshr(c, 4 * index), 15) if known is None else e.const(c, known >> 4 * index & 15)
        byte = _picked(e, pair, nibble)
        result = byte if result is None else e.or_(result, e.shl(byte, 8 * index))
    return result


def _picked(e, pair, nibble):
    """The byte of a 64-bit pair that a selector's nibble names, or its sign in all bits, as 32 bits."""
    known = e.literal(nibble)
    if known is not None:
        byte = e.and_(e.trunc(e.lshr(pair, 8 * (known & 7)), 32), 255)
        return e.and_(e.sub(e.const(byte, 0), e.lshr(byte, 7)), 255) if known & 8 else byte
    amount = e.shl(e.zext(e.and_(nibble, 7), 64), 3)
    byte = e.and_(e.trunc(e.lshr(pair, amount), 32), 255)
    sign = e.and_(e.sub(e.const(byte, 0), e.lshr(byte, 7)), 255)
    return e.select(e.icmp(">=", nibble, 8), sign, byte)


def _dot_shape(form: Form) -> Shape:
    result = TYPES["s32"] if any(type_.is_signed for type_ in form.types) else U32
    return Shape((result,), (*form.types, result))


def _parts(a: np.ndarray, bits: int, signed: bool) -> np.ndarray:
    return a[:, None].view(f"{'' if signed else 'u'}int{bits}").astype(np.int64)


def _dot(form, a, b, c):
    wide = form.op.name == "dp2a"
    left = _parts(a, 16 if wide else 8, form.types[0].is_signed)
    right = _parts(b, 8, form.types[1].is_signed)
    if wide:
        right = right[:, 2:] if form.has("hi") else right[:, :2]
    return (c.astype(np.int64) + (left * right).sum(axis=1)).astype(np.uint32 if c.dtype == np.uint32 else np.int32)


def _emit_dot(e, form, a, b, c):
    wide = form.op.name == "dp2a"
    width, count, offset = (16, 2, 2 * form.has("hi")) if wide else (8, 4, 0)
    for index in range(count):
        left = _emit_part(e, a, index, width, form.types[0].is_signed)
        c = e.add(c, e.mul(left, _emit_part(e, b, index + offset, 8, form.types[1].is_signed)))
    return c


def _emit_part(e, a, index: int, width: int, signed: bool):
    """Part `index` of a 32-bit value, extended to 32 bits."""
    top = e.shl(a, 32 - width * (index + 1))
    return e.ashr(top, 32 - width) if signed else e.lshr(top, 32 - width)


def _count_shape(form: Form) -> Shape:
    return Shape((U32,), (form.type,))


def _field_shape(n_values: int):
    return lambda form: Shape((form.type,), (form.type,) * n_values + (U32, U32))


ROWS = (
    Op("popc", ("popc.{b32,b64}",), shape=_count_shape, eval=_popc, emit=_emit_popc, since=("2.0", 20),
       section=_INTEGER + "popc"),
    Op("clz", ("clz.{b32,b64}",), shape=_count_shape, eval=_clz, emit=_emit_clz, since=("2.0", 20),
       section=_INTEGER + "clz"),
    Op("bfind", ("bfind{.shiftamt}.{u32,u64,s32,s64}",), shape=_count_shape, eval=_bfind, emit=_emit_bfind,
       since=("2.0", 20), section=_INTEGER + "bfind"),
    Op("fns", ("fns.b32",), shape=of("b32", "b32", "u32", "s32"), eval=_fns, emit=_emit_fns, since=("6.0", 30),
       section=_INTEGER + "fns"),
    Op("brev", ("brev.{b32,b64}",), shape=same(1), eval=_brev, emit=_emit_brev, since=("2.0", 20),
       section=_INTEGER + "brev"),
    Op("bfe", ("bfe.{u32,u64,s32,s64}",), shape=_field_shape(1), eval=_bfe, emit=_emit_bfe, since=("2.0", 20),
       section=_INTEGER + "bfe"),
    Op("bfi", ("bfi.{b32,b64}",), shape=_field_shape(2), eval=_bfi, emit=_emit_bfi, since=("2.0", 20),
       section=_INTEGER + "bfi"),
    Op("bmsk", ("bmsk.{clamp,wrap}.b32",), shape=of("b32", "u32", "u32"), eval=_bmsk, emit=_emit_bmsk,
       since=("7.6", 70), section=_INTEGER + "bmsk"),
    Op("szext", ("szext.{clamp,wrap}.{u32,s32}",), shape=lambda form: Shape((form.type,), (form.type, U32)), eval=_szext,
       emit=_emit_szext, since=("7.6", 70), section=_INTEGER + "szext"),
    Op("prmt", ("prmt.b32{.f4e,.b4e,.rc8,.ecl,.ecr,.rc16}",), shape=of("b32", "b32", "b32", "b32"), eval=_prmt,
       emit=_emit_prmt, since=("2.0", 20), section="Data Movement and Conversion Instructions: prmt"),
    Op("dp4a", ("dp4a.{u32,s32}.{u32,s32}",), shape=_dot_shape, eval=_dot, emit=_emit_dot, since=("5.0", 61),
       section=_INTEGER + "dp4a"),
    Op("dp2a", ("dp2a.{lo,hi}.{u32,s32}.{u32,s32}",), shape=_dot_shape, eval=_dot, emit=_emit_dot, since=("5.0", 61),
       section=_INTEGER + "dp2a"),
)  # fmt: skip
