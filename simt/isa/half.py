"""Arithmetic and comparison on f16, bf16 and their packed pairs, and on packed f32: add sub mul fma neg abs min max set."""

from __future__ import annotations

import numpy as np

from simt.isa.compare import COMPARISONS, compared, emit_compared
from simt.isa.floating import chosen
from simt.isa.formats import (
    decode,
    emit_decode,
    emit_encode,
    emit_join,
    emit_split,
    encode,
    is_bf16,
    is_pair,
    join,
    split,
)
from simt.isa.op import Form, Op, Shape
from simt.isa.rounding import CANONICAL, emit_odd_sum, emit_saturate, odd_sum, saturate
from simt.isa.series import emit_exp2, emit_tanh
from simt.isa.shapes import PRED, same

__all__ = ["ROWS"]

_HALF = "Half Precision Floating Point Instructions: "
_MATH = "Floating Point Instructions: "


def _by_half(lane):
    """`eval` from a function of one scalar half's sources: packed operands go through it twice."""

    def evaluate(form, *sources):
        if not is_pair(form.type):
            return lane(form, *sources)
        low, high = zip(*map(split, sources), strict=True)
        return join(lane(form, *low), lane(form, *high))

    return evaluate


def _emit_by_half(lane):
    def emit(e, form, *sources):
        if not is_pair(form.type):
            return lane(e, form, *sources)
        low, high = zip(*(emit_split(e, source) for source in sources), strict=True)
        return emit_join(e, lane(e, form, *low), lane(e, form, *high))

    return emit


_NAN = CANONICAL[16]
_SCALE = 2.0**11
_LEAST = {False: 2.0**-14, True: 2.0**-126}  # smallest normal number of f16, of bf16


def _exponent(form: Form) -> int:
    return 0x7F80 if is_bf16(form.types[-1]) else 0x7C00


def _flushed(form: Form, a: np.ndarray) -> np.ndarray:
    """One scalar half, subnormal numbers replaced by zero of their sign when the form says `.ftz`."""
    bits = a.view(np.uint16)
    return np.where(bits & _exponent(form) == 0, bits & 0x8000, bits).view(a.dtype) if form.has("ftz") else a


def _emit_flushed(e, form: Form, a):
    if not form.has("ftz"):
        return a
    bits = a if e.is_int(a) else e.bits(a)
    flushed = e.select(e.icmp("==", e.and_(bits, _exponent(form)), 0), e.and_(bits, 0x8000), bits)
    return flushed if e.is_int(a) else e.of_bits(flushed)


def _finished(form: Form, value: np.ndarray) -> np.ndarray:
    """Float64, exact or rounded to odd, as a 16-bit result: `.relu` and `.sat`, rounding, `.ftz`."""
    if form.has("relu"):
        value = np.where(value <= 0, 0.0, value)
    if form.has("sat"):
        value = saturate(value)
    if form.has("ftz"):  # what is subnormal once rounded as if exponents had no lower bound
        least, type_ = _LEAST[is_bf16(form.type)], form.type
        tiny = np.abs(decode(type_, encode(type_, value * _SCALE))) < least * _SCALE
        value = np.where(tiny, np.copysign(0.0, value), value)
    return encode(form.type, value)


def _emit_finished(e, form: Form, value):
    if form.has("relu"):
        value = e.select(e.fcmp("<=", value, 0.0), 0.0, value)
    if form.has("sat"):
        value = emit_saturate(e, value)
    if form.has("ftz"):
        scaled = emit_decode(e, form.type, emit_encode(e, form.type, e.fmul(value, _SCALE)))
        tiny = e.fcmp("<", e.intrinsic("llvm.fabs", scaled), _LEAST[is_bf16(form.type)] * _SCALE)
        value = e.select(tiny, e.intrinsic("llvm.copysign", e.const(value, 0.0), value), value)
    return emit_encode(e, form.type, value)


def _arithmetic(function, emit_function):
    """(eval, emit) of a row computed in float64, and in IR in the float that makes one rounding enough."""

    def lane(form, *sources):
        values = [decode(form.type, _flushed(form, source)) for source in sources]
        with np.errstate(invalid="ignore", over="ignore"):
            return _finished(form, function(*values))

    def emit_lane(e, form, *sources):
        values = [emit_decode(e, form.type, _emit_flushed(e, form, source)) for source in sources]
        if form.has("ftz") and not is_bf16(form.type):  # wide enough to see what is subnormal before it is rounded
            values = [e.fpext(value, 32) for value in values]
        return _emit_finished(e, form, emit_function(e, *values))

    return {"eval": _by_half(lane), "emit": _emit_by_half(emit_lane)}


def _emit_fma(e, a, b, c):
    """With an exact product, of f16 in float and of bf16 in double, and the sum rounded to odd."""
    a, b, c = (e.fpext(x, 2 * e.width(a)) for x in (a, b, c))
    return emit_odd_sum(e, e.fmul(a, b), c)


def _through_double(emit_function):
    return lambda e, a: emit_function(e, e.fpext(a, 64))


def _sign_row(function, emit_function):
    """(eval, emit) of `neg` or `abs`, which touch only the sign bit, and make a NaN canonical."""

    def lane(form, a):
        bits = _flushed(form, a).view(np.uint16)
        is_nan = bits & 0x7FFF > _exponent(form)
        return np.where(is_nan, _NAN, function(bits)).astype(np.uint16).view(a.dtype)

    def emit_lane(e, form, a):
        bits = _emit_flushed(e, form, a if e.is_int(a) else e.bits(a))
        is_nan = e.icmp(">", e.and_(bits, 0x7FFF), _exponent(form))
        result = e.select(is_nan, _NAN, emit_function(e, bits))
        return result if e.is_int(a) else e.of_bits(result)

    return {"eval": _by_half(lane), "emit": _emit_by_half(emit_lane)}


def _extreme(name: str):
    """(eval, emit) of `min` or `max`."""

    def lane(form, a, b):
        x, y = (decode(form.type, _flushed(form, source)) for source in (a, b))
        sign = np.signbit(x) ^ np.signbit(y)
        if form.has("abs"):
            x, y = np.abs(x), np.abs(y)
        value = chosen(name, form, x, y)
        return encode(form.type, np.where(form.has("xorsign") & sign, -value, value))

    def emit_lane(e, form, a, b):
        x, y = (emit_decode(e, form.type, _emit_flushed(e, form, source)) for source in (a, b))
        if not is_bf16(form.type):
            x, y = e.fpext(x, 32), e.fpext(y, 32)
        sign = e.icmp("<", e.xor(e.bits(x), e.bits(y)), 0, signed=True)
        if form.has("abs"):
            x, y = e.intrinsic("llvm.fabs", x), e.intrinsic("llvm.fabs", y)
        value = e.intrinsic(f"llvm.{name}imum{'' if form.has('NaN') else 'num'}", x, y)
        if form.has("xorsign"):
            value = e.select(sign, e.fneg(value), value)
        return emit_encode(e, form.type, value)

    return {"eval": _by_half(lane), "emit": _emit_by_half(emit_lane)}


def _source(form: Form):
    return form.types[-1]


def _joined(form: Form, p, c, and_, or_, xor):
    operators = {"and": and_, "or": or_, "xor": xor}
    return next((operators[mod](p, c) for mod in form.mods if mod in operators), p)


def _relation(form: Form, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    a, b = (decode(_source(form), _flushed(form, source)) for source in (a, b))
    return compared(form.mods[0], a, b)


def _emit_relation(e, form: Form, a, b):
    a, b = (emit_decode(e, _source(form), _emit_flushed(e, form, x)) for x in (a, b))
    return emit_compared(e, form.mods[0], a, b)


def _setp(form, a, b, c=None):
    parts = list(zip(split(a), split(b), strict=True)) if is_pair(form.type) else [(a, b)]
    results = [_joined(form, _relation(form, x, y), c, np.logical_and, np.logical_or, np.logical_xor) for x, y in parts]
    return tuple(results) if len(results) > 1 else results[0]


def _emit_setp(e, form, a, b, c=None):
    parts = list(zip(e.halves(a), e.halves(b), strict=True)) if is_pair(form.type) else [(a, b)]
    results = [_joined(form, _emit_relation(e, form, x, y), c, e.and_, e.or_, e.xor) for x, y in parts]
    return tuple(results) if len(results) > 1 else results[0]


def _joins(form: Form) -> tuple:
    return (PRED,) if any(mod in ("and", "or", "xor") for mod in form.mods) else ()


def _setp_shape(form: Form) -> Shape:
    return Shape((PRED,) * (1 + form.has("pair")), (form.type, form.type, *_joins(form)))


def _set_shape(form: Form) -> Shape:
    return Shape((form.types[0],), (_source(form), _source(form), *_joins(form)))


_TRUE = {"f16": 0x3C00, "bf16": 0x3F80}


def _set(form, a, b, c=None):
    result, source = form.types
    parts = list(zip(split(a), split(b), strict=True)) if is_pair(source) else [(a, b)]
    held = [_joined(form, _relation(form, x, y), c, np.logical_and, np.logical_or, np.logical_xor) for x, y in parts]
    true = _TRUE.get(result.name.removesuffix("x2"), (1 << (16 if is_pair(source) else result.bits)) - 1)
    values = [np.where(p, true, 0).astype(np.uint64) for p in held]
    bits = values[0] | values[1] << 16 if is_pair(source) else values[0]
    return bits.astype(f"uint{result.bits}").view(result.dtype)


def _emit_set(e, form, a, b, c=None):
    result, source = form.types
    parts = list(zip(e.halves(a), e.halves(b), strict=True)) if is_pair(source) else [(a, b)]
    held = [_joined(form, _emit_relation(e, form, x, y), c, e.and_, e.or_, e.xor) for x, y in parts]
    width = 16 if is_pair(source) else result.bits
    true = _TRUE.get(result.name.removesuffix("x2"), -1)
    values = [e.select(p, e.const(p, true, width), 0) for p in held]
    bits = e.joined(*values) if is_pair(source) else values[0]
    return e.of_bits(bits) if result.is_float else bits


_F16, _BF16 = "{f16,f16x2}", "{bf16,bf16x2}"
_JOIN = "{.and,.or,.xor}"


def _both(
    name: str, f16: str, bf16: str, n_sources: int, functions: dict, section: str = _HALF, **fields
) -> tuple[Op, ...]:
    """The row of an operation on f16, and its row on bf16, which came later."""
    return (
        Op(
            name,
            (f"{name}{f16}.{_F16}",),
            shape=same(n_sources),
            since=("4.2", 53),
            section=section + name,
            **functions,
            **fields,
        ),
        Op(
            name,
            (f"{name}{bf16}.{_BF16}",),
            shape=same(n_sources),
            since=("7.8", 90),
            section=section + name,
            **functions,
            **fields,
        ),
    )


def _bound(ulp: float):
    return lambda form: ulp


_ADD = _arithmetic(lambda a, b: a + b, lambda e, a, b: e.fadd(a, b))
_SUB = _arithmetic(lambda a, b: a - b, lambda e, a, b: e.fsub(a, b))
_MUL = _arithmetic(lambda a, b: a * b, lambda e, a, b: e.fmul(a, b))
_FMA = _arithmetic(lambda a, b, c: odd_sum(a * b, c), _emit_fma)
_EX2 = _arithmetic(np.exp2, _through_double(emit_exp2))
_TANH = _arithmetic(np.tanh, _through_double(emit_tanh))
_NEG = _sign_row(lambda bits: bits ^ 0x8000, lambda e, bits: e.xor(bits, 0x8000))
_ABS = _sign_row(lambda bits: bits & 0x7FFF, lambda e, bits: e.and_(bits, 0x7FFF))

ROWS = (
    *_both("add", "{.rn}{.ftz}{.sat}", "{.rn}", 2, _ADD),
    *_both("sub", "{.rn}{.ftz}{.sat}", "{.rn}", 2, _SUB),
    *_both("mul", "{.rn}{.ftz}{.sat}", "{.rn}", 2, _MUL),
    *_both("fma", ".rn{.ftz}{.sat,.relu}", ".rn{.relu}", 3, _FMA),
    *_both("neg", "{.ftz}", "", 1, _NEG),
    *_both("abs", "{.ftz}", "", 1, _ABS),
    *_both("min", "{.ftz}{.NaN}{.xorsign.abs}", "{.NaN}{.xorsign.abs}", 2, _extreme("min")),
    *_both("max", "{.ftz}{.NaN}{.xorsign.abs}", "{.NaN}{.xorsign.abs}", 2, _extreme("max")),
    *_both("ex2", ".approx", ".approx.ftz", 1, _EX2, _MATH, ulp=_bound(2)),
    *_both("tanh", ".approx", ".approx", 1, _TANH, _MATH, ulp=_bound(2)),
    Op("setp", (f"setp.{COMPARISONS}{_JOIN}{{.ftz}}.f16", f"setp.{COMPARISONS}{_JOIN}{{.ftz}}.f16x2.pair"),
       shape=_setp_shape, eval=_setp, emit=_emit_setp, since=("4.2", 53),
       section="Half Precision Comparison Instructions: setp"),
    Op("setp", (f"setp.{COMPARISONS}{_JOIN}.bf16", f"setp.{COMPARISONS}{_JOIN}.bf16x2.pair"),
       shape=_setp_shape, eval=_setp, emit=_emit_setp, since=("7.8", 90),
       section="Half Precision Comparison Instructions: setp"),
    Op("set", (f"set.{COMPARISONS}{_JOIN}{{.ftz}}.{{f16,u16,s16,u32,s32}}.f16",
               f"set.{COMPARISONS}{_JOIN}{{.ftz}}.{{f16x2,u32,s32}}.f16x2"),
       shape=_set_shape, eval=_set, emit=_emit_set, since=("4.2", 53),
       section="Half Precision Comparison Instructions: set"),
    Op("set", (f"set.{COMPARISONS}{_JOIN}.{{bf16,u16,s16,u32,s32}}.bf16",
               f"set.{COMPARISONS}{_JOIN}.{{bf16x2,u32,s32}}.bf16x2"),
       shape=_set_shape, eval=_set, emit=_emit_set, since=("7.8", 90),
       section="Half Precision Comparison Instructions: set"),
)  # fmt: skip
