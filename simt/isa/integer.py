"""Integer arithmetic: add sub mul mad div rem abs neg min max sad and their 24-bit and wide relatives."""

from __future__ import annotations

import numpy as np

from simt.isa.op import Form, Op
from simt.isa.shapes import INTS, double, same, widened

__all__ = ["ROWS"]

_SECTION = "Integer Arithmetic Instructions: "


def _signed(form: Form) -> bool:
    return form.type.is_signed


def _clamped(form: Form, wide: np.ndarray) -> np.ndarray:
    """Python integers clamped to the range of the operation's type, when the form says `.sat`."""
    info = np.iinfo(form.type.dtype)
    return np.minimum(np.maximum(wide, info.min), info.max).astype(form.type.dtype)


def _wide(*sources: np.ndarray) -> tuple[np.ndarray, ...]:
    """The sources as arrays of Python integers, which do not overflow."""
    return tuple(source.astype(object) for source in sources)


def _wrapped(wide: np.ndarray, dtype: str) -> np.ndarray:
    """Python integers reduced to a dtype's width."""
    bits = 8 * np.dtype(dtype).itemsize
    return (wide & (1 << bits) - 1).astype(f"uint{bits}").view(dtype)


def _add(form, a, b):
    if form.has("sat"):
        wide, other = _wide(a, b)
        return _clamped(form, wide + other)
    return a + b


def _emit_add(e, form, a, b):
    return e.intrinsic("llvm.sadd.sat", a, b) if form.has("sat") else e.add(a, b)


def _sub(form, a, b):
    if form.has("sat"):
        wide, other = _wide(a, b)
        return _clamped(form, wide - other)
    return a - b


def _emit_sub(e, form, a, b):
    return e.intrinsic("llvm.ssub.sat", a, b) if form.has("sat") else e.sub(a, b)


def _mul(form, a, b):
    wide, other = _wide(a, b)
    product = wide * other
    if form.has("wide"):
        return _wrapped(product, double(form.type).dtype)
    return _wrapped(product >> form.type.bits if form.has("hi") else product, form.type.dtype)


def _emit_mul(e, form, a, b):
    if form.has("lo"):
        return e.mul(a, b)
    bits = form.type.bits
    product = e.mul(e.resize(a, 2 * bits, _signed(form)), e.resize(b, 2 * bits, _signed(form)))
    return product if form.has("wide") else e.trunc(e.lshr(product, bits), bits)


def _mad(form, a, b, c):
    product = _mul(form, a, b)
    if form.has("sat"):
        wide, other = _wide(product, c)
        return _clamped(form, wide + other)
    return product + c


def _emit_mad(e, form, a, b, c):
    product = _emit_mul(e, form, a, b)
    return e.intrinsic("llvm.sadd.sat", product, c) if form.has("sat") else e.add(product, c)


def _low24(form, a):
    return (a << 8) >> 8  # keeps bits 0..23, extended by sign or zero as the type says


def _mul24(form, a, b):
    wide, other = _wide(_low24(form, a), _low24(form, b))
    return _wrapped(wide * other >> 16 if form.has("hi") else wide * other, form.type.dtype)


def _emit_mul24(e, form, a, b):
    right = e.ashr if _signed(form) else e.lshr
    product = e.mul(*(e.resize(right(e.shl(x, 8), 8), 64, _signed(form)) for x in (a, b)))
    return e.trunc(e.lshr(product, 16) if form.has("hi") else product, 32)


def _mad24(form, a, b, c):
    product = _mul24(form, a, b)
    if form.has("sat"):
        wide, other = _wide(product, c)
        return _clamped(form, wide + other)
    return product + c


def _emit_mad24(e, form, a, b, c):
    product = _emit_mul24(e, form, a, b)
    return e.intrinsic("llvm.sadd.sat", product, c) if form.has("sat") else e.add(product, c)


def _div(form, a, b):
    wide, other = _wide(a, np.where(b == 0, 1, b))
    quotient = abs(wide) // abs(other) * np.where((wide < 0) != (other < 0), -1, 1)
    return np.where(b == 0, _wrapped(quotient * 0 - 1, form.type.dtype), _wrapped(quotient, form.type.dtype))


def _rem(form, a, b):
    wide, other = _wide(a, np.where(b == 0, 1, b))
    remainder = abs(wide) % abs(other) * np.where(wide < 0, -1, 1)
    return np.where(b == 0, _wrapped(remainder * 0 - 1, form.type.dtype), _wrapped(remainder, form.type.dtype))


def _safe_divisor(e, form, a, b):
    """`b`, or 1 where LLVM's division would be undefined: a zero divisor, or the smallest integer by -1."""
    unsafe = e.icmp("==", b, 0)
    if _signed(form):
        overflow = e.and_(e.icmp("==", a, 1 << form.type.bits - 1), e.icmp("==", b, -1))
        unsafe = e.or_(unsafe, overflow)
    return e.select(unsafe, 1, b)


def _quotient(e, form, a, b):
    """Truncated quotient for a divisor that is safe; 32 bits and fewer divide exactly in double."""
    if not e.is_vector(a) or form.type.bits == 64 or e.literal(b) is not None:
        return e.sdiv(a, b) if _signed(form) else e.udiv(a, b)
    if _signed(form):
        return e.fptosi(e.fdiv(e.sitofp(a, 64), e.sitofp(b, 64)), form.type.bits)
    return e.fptoui(e.fdiv(e.uitofp(a, 64), e.uitofp(b, 64)), form.type.bits)


def _emit_div(e, form, a, b):
    quotient = _quotient(e, form, a, _safe_divisor(e, form, a, b))
    return e.select(e.icmp("==", b, 0), -1, quotient)


def _emit_rem(e, form, a, b):
    safe = _safe_divisor(e, form, a, b)
    remainder = e.sub(a, e.mul(_quotient(e, form, a, safe), safe))
    return e.select(e.icmp("==", b, 0), -1, remainder)


def _abs(form, a):
    return np.where(a < 0, -a, a)


def _emit_abs(e, form, a):
    return e.flagged("llvm.abs", a)


def _relu(form, a):
    return np.maximum(a, 0) if form.has("relu") else a


def _extreme(name: str):
    """(eval, emit) of `min` or `max`."""
    choose = np.minimum if name == "min" else np.maximum

    def evaluate(form, a, b):
        return _relu(form, choose(a, b)).astype(a.dtype)

    def emit(e, form, a, b):
        chosen = e.intrinsic(f"llvm.{'s' if _signed(form) else 'u'}{name}", a, b)
        return e.intrinsic("llvm.smax", chosen, e.const(chosen, 0)) if form.has("relu") else chosen

    return {"eval": evaluate, "emit": emit}


def _sad(form, a, b, c):
    return c + np.where(a < b, b - a, a - b)


def _emit_sad(e, form, a, b, c):
    smaller = e.icmp("<", a, b, _signed(form))
    return e.add(c, e.select(smaller, e.sub(b, a), e.sub(a, b)))


_ZERO = "division by zero: the ISA leaves the result open; all ones, as an H200 gives"

ROWS = (
    Op("add", (f"add.{INTS}", "add.sat.s32"), shape=same(2), eval=_add, emit=_emit_add, section=_SECTION + "add"),
    Op("sub", (f"sub.{INTS}", "sub.sat.s32"), shape=same(2), eval=_sub, emit=_emit_sub, section=_SECTION + "sub"),
    Op("mul", (f"mul.{{lo,hi}}.{INTS}",), shape=same(2), eval=_mul, emit=_emit_mul, section=_SECTION + "mul"),
    Op("mul", ("mul.wide.{u16,u32,s16,s32}",), shape=widened(False, False), eval=_mul, emit=_emit_mul,
       section=_SECTION + "mul"),
    Op("mad", (f"mad.{{lo,hi}}.{INTS}", "mad.hi.sat.s32"), shape=same(3), eval=_mad, emit=_emit_mad,
       section=_SECTION + "mad"),
    Op("mad", ("mad.wide.{u16,u32,s16,s32}",), shape=widened(False, False, True), eval=_mad, emit=_emit_mad,
       section=_SECTION + "mad"),
    Op("mul24", ("mul24.{lo,hi}.{u32,s32}",), shape=same(2), eval=_mul24, emit=_emit_mul24, section=_SECTION + "mul24"),
    Op("mad24", ("mad24.{lo,hi}.{u32,s32}", "mad24.hi.sat.s32"), shape=same(3), eval=_mad24, emit=_emit_mad24,
       section=_SECTION + "mad24"),
    Op("sad", (f"sad.{INTS}",), shape=same(3), eval=_sad, emit=_emit_sad, section=_SECTION + "sad"),
    Op("div", (f"div.{INTS}",), shape=same(2), eval=_div, emit=_emit_div, section=_SECTION + "div", note=_ZERO),
    Op("rem", (f"rem.{INTS}",), shape=same(2), eval=_rem, emit=_emit_rem, section=_SECTION + "rem", note=_ZERO),
    Op("abs", ("abs.{s16,s32,s64}",), shape=same(1), eval=_abs, emit=_emit_abs, section=_SECTION + "abs"),
    Op("neg", ("neg.{s16,s32,s64}",), shape=same(1), eval=lambda form, a: -a, emit=lambda e, form, a: e.neg(a),
       section=_SECTION + "neg"),
    Op("min", (f"min.{INTS}",), shape=same(2), **_extreme("min"), section=_SECTION + "min"),
    Op("max", (f"max.{INTS}",), shape=same(2), **_extreme("max"), section=_SECTION + "max"),
    Op("min", ("min.relu.s32", "min.s32.relu"), shape=same(2), **_extreme("min"), since=("8.0", 90), section=_SECTION + "min"),
    Op("max", ("max.relu.s32", "max.s32.relu"), shape=same(2), **_extreme("max"), since=("8.0", 90), section=_SECTION + "max"),
)  # fmt: skip
