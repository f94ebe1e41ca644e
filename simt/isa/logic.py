"""Logic and shifts: and or xor not cnot lop3 shl shr shf."""

from __future__ import annotations

import numpy as np

from simt.isa.op import Form, Op, Shape
from simt.isa.shapes import PRED, U32, of, same
from simt.ptx.types import TYPES

__all__ = ["ROWS"]

_LOGIC = "Logic and Shift Instructions: "
_BITS = "{pred,b16,b32,b64}"
_FULL = 255


def _cnot(form, a):
    return (a == 0).astype(a.dtype)


def _emit_cnot(e, form, a):
    return e.zext(e.icmp("==", a, 0), form.type.bits)


def _lop3(form, a, b, c, table):
    result = np.zeros_like(a)
    for minterm in range(8):
        chosen = (table >> minterm & 1).astype(bool)
        term = (a if minterm & 4 else ~a) & (b if minterm & 2 else ~b) & (c if minterm & 1 else ~c)
        result |= np.where(chosen, term, 0).astype(a.dtype)
    return result


def _minterms(e, a, b, c, table: int):
    """OR of the minterms of a constant table, taken as sum of products over `a` of the two tables on (b, c)."""

    def of_two(nibble):
        pair = {
            0: lambda: e.const(b, 0),
            1: lambda: e.not_(e.or_(b, c)),
            2: lambda: e.and_(e.not_(b), c),
            3: lambda: e.not_(b),
            4: lambda: e.and_(b, e.not_(c)),
            5: lambda: e.not_(c),
            6: lambda: e.xor(b, c),
            7: lambda: e.not_(e.and_(b, c)),
            8: lambda: e.and_(b, c),
            9: lambda: e.not_(e.xor(b, c)),
            10: lambda: c,
            11: lambda: e.or_(e.not_(b), c),
            12: lambda: b,
            13: lambda: e.or_(b, e.not_(c)),
            14: lambda: e.or_(b, c),
            15: lambda: e.const(b, -1),
        }
        return pair[nibble]()

    low, high = table & 15, table >> 4
    if low == high:
        return of_two(low)
    if low == 15 - high:
        return e.xor(a, of_two(low))
    if low == 0:
        return e.and_(a, of_two(high))
    if high == 0:
        return e.and_(e.not_(a), of_two(low))
    return e.or_(e.and_(a, of_two(high)), e.and_(e.not_(a), of_two(low)))


def _emit_lop3(e, form, a, b, c, table):
    known = e.literal(table)
    if known is not None:
        return _minterms(e, a, b, c, known & _FULL)
    result = e.const(a, 0)
    for minterm in range(8):
        chosen = e.neg(e.and_(e.lshr(table, minterm), 1))
        terms = (x if minterm & bit else e.not_(x) for x, bit in ((a, 4), (b, 2), (c, 1)))
        for term in terms:
            chosen = e.and_(chosen, term)
        result = e.or_(result, chosen)
    return result


def _lop3_pred(form, a, b, c, table, q):
    value = _lop3(form, a, b, c, table)
    return value, (value != 0) | q if form.has("or") else (value != 0) & q


def _emit_lop3_pred(e, form, a, b, c, table, q):
    value = _emit_lop3(e, form, a, b, c, table)
    combine = e.or_ if form.has("or") else e.and_
    return value, combine(e.icmp("!=", value, 0), q)


def _shift_shape(form: Form) -> Shape:
    return Shape((form.type,), (form.type, U32))


def _shl(form, a, b):
    in_range = np.minimum(b, form.type.bits - 1).astype(a.dtype)
    return np.where(b < form.type.bits, a << in_range, 0).astype(a.dtype)


def _shr(form, a, b):
    in_range = np.minimum(b, form.type.bits - 1).astype(a.dtype)
    if form.type.is_signed:
        return a >> in_range  # a shift past the width fills with the sign
    return np.where(b < form.type.bits, a >> in_range, 0).astype(a.dtype)


def _clamped(e, form, b):
    """(amount below the width, is the true amount below the width), the latter None when known to be."""
    bits = form.type.bits
    known = e.literal(b)
    if known is not None:
        return e.resize(e.const(b, min(known, bits - 1)), bits), None if known < bits else e.icmp("<", b, bits)
    return e.resize(e.intrinsic("llvm.umin", b, e.const(b, bits - 1)), bits), e.icmp("<", b, bits)


def _emit_shl(e, form, a, b):
    amount, below = _clamped(e, form, b)
    shifted = e.shl(a, amount)
    return shifted if below is None else e.select(below, shifted, 0)


def _emit_shr(e, form, a, b):
    amount, below = _clamped(e, form, b)
    if form.type.is_signed:
        return e.ashr(a, amount)
    shifted = e.lshr(a, amount)
    return shifted if below is None else e.select(below, shifted, 0)


def _shf(form, a, b, c):
    amount = (c & 31 if form.has("wrap") else np.minimum(c, 32)).astype(np.uint64)
    pair = a.astype(np.uint64) | b.astype(np.uint64) << np.uint64(32)
    shifted = (pair << amount) >> np.uint64(32) if form.has("l") else pair >> amount
    return shifted.astype(np.uint32)


def _emit_shf(e, form, a, b, c):
    if form.has("wrap"):
        return e.intrinsic("llvm.fshl" if form.has("l") else "llvm.fshr", b, a, c)
    amount = e.zext(e.intrinsic("llvm.umin", c, e.const(c, 32)), 64)
    pair = e.joined(a, b)
    return e.trunc(e.lshr(e.shl(pair, amount), 32) if form.has("l") else e.lshr(pair, amount), 32)


def _two(name: str, evaluate, emit) -> Op:
    return Op(
        name,
        (f"{name}.{_BITS}",),
        shape=same(2),
        eval=lambda form, a, b: evaluate(a, b),
        emit=lambda e, form, a, b: emit(e, a, b),
        section=_LOGIC + name,
    )


ROWS = (
    _two("and", lambda a, b: a & b, lambda e, a, b: e.and_(a, b)),
    _two("or", lambda a, b: a | b, lambda e, a, b: e.or_(a, b)),
    _two("xor", lambda a, b: a ^ b, lambda e, a, b: e.xor(a, b)),
    Op("not", (f"not.{_BITS}",), shape=same(1), eval=lambda form, a: ~a, emit=lambda e, form, a: e.not_(a),
       section=_LOGIC + "not"),
    Op("cnot", ("cnot.{b16,b32,b64}",), shape=same(1), eval=_cnot, emit=_emit_cnot, section=_LOGIC + "cnot"),
    Op("lop3", ("lop3.b32",), shape=of("b32", "b32", "b32", "b32", "u32"), eval=_lop3, emit=_emit_lop3,
       since=("4.3", 50), section=_LOGIC + "lop3"),
    Op("lop3", ("lop3.{or,and}.b32",), eval=_lop3_pred, emit=_emit_lop3_pred, since=("8.2", 70),
       shape=lambda form: Shape((TYPES["b32"], PRED), (TYPES["b32"],) * 3 + (U32, PRED)), section=_LOGIC + "lop3"),
    Op("shl", ("shl.{b16,b32,b64}",), shape=_shift_shape, eval=_shl, emit=_emit_shl, section=_LOGIC + "shl"),
    Op("shr", ("shr.{b16,b32,b64,u16,u32,u64,s16,s32,s64}",), shape=_shift_shape, eval=_shr, emit=_emit_shr,
       section=_LOGIC + "shr"),
    Op("shf", ("shf.{l,r}.{wrap,clamp}.b32",), shape=of("b32", "b32", "b32", "u32"), eval=_shf, emit=_emit_shf,
       since=("3.1", 32), section=_LOGIC + "shf"),
)  # fmt: skip
