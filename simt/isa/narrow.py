"""Conversion to and from bf16, tf32, fp8 and packed pairs: the other half of cvt."""

from __future__ import annotations

import numpy as np

from simt.isa.convert import emit_integral, emit_to_float, emit_to_int, integral, to_float, to_int
from simt.isa.formats import (
    decode,
    emit_bf16,
    emit_decode,
    emit_join,
    emit_split,
    is_bf16,
    is_pair,
    join,
    split,
    to_bf16,
)
from simt.isa.op import Form, Op, Shape
from simt.isa.rounding import canonical, emit_canonical, emit_saturate, mode_of, saturate
from simt.ptx.types import TYPES, PtxType

__all__ = ["ROWS"]

_SECTION = "Data Movement and Conversion Instructions: cvt"
_LARGEST = {"f16": 0x7BFF, "bf16": 0x7F7F}


def _shape(form: Form) -> Shape:
    result, source = form.types
    return Shape((result,), (source, source) if is_pair(result) and source.name == "f32" else (source,))


def _as_double(type_: PtxType, a: np.ndarray) -> np.ndarray:
    """A source's value as float64; an integer that does not fit is rounded to odd."""
    if type_.name in ("f16", "bf16"):
        return decode(type_, a)
    if type_.is_float:
        return a.astype(np.float64)
    truncated = to_float(a, "float64", "rz")
    inexact = np.array([int(x) != int(y) for x, y in zip(truncated, a, strict=True)])
    return (truncated.view(np.int64) | inexact).view(np.float64)


def _emit_as_float(e, type_: PtxType, a):
    """`_as_double` in IR: float where that holds the value, else double."""
    if type_.name in ("f16", "bf16"):
        return e.fpext(emit_decode(e, type_, a), 32) if type_.name == "f16" else emit_decode(e, type_, a)
    if type_.is_float:
        return a
    convert = "sitofp" if type_.is_signed else "uitofp"
    if type_.bits < 64:
        return getattr(e, convert)(a, 64)
    truncated = e.rounded(convert, "rz", a, bits=64)
    back = e.fptosi(truncated, 64) if type_.is_signed else e.fptoui(truncated, 64)
    return e.of_bits(e.or_(e.bits(truncated), e.zext(e.icmp("!=", back, a), 64)))


def _narrowed(form: Form, type_: PtxType, value: np.ndarray) -> np.ndarray:
    """Float64 rounded once to f16 or bf16, with the form's `.relu`, `.sat` and `.satfinite`."""
    if form.has("relu"):
        value = np.where(value <= 0, 0.0, value)
    if form.has("sat"):
        value = saturate(value)
    mode = mode_of(form.mods)
    bits = (to_bf16(value, mode) if is_bf16(type_) else canonical(to_float(value, "float16", mode))).view(np.uint16)
    if form.has("satfinite"):
        largest = _LARGEST[type_.name.removesuffix("x2")]
        bits = np.where(bits & 0x7FFF == largest + 1, bits - 1, bits).astype(np.uint16)
    return bits if is_bf16(type_) else bits.view(np.float16)


def _emit_narrowed(e, form: Form, type_: PtxType, value):
    if form.has("relu"):
        value = e.select(e.fcmp("<=", value, 0.0), 0.0, value)
    if form.has("sat"):
        value = emit_saturate(e, value)
    mode = mode_of(form.mods)
    if is_bf16(type_):
        bits = emit_bf16(e, value, mode)
    else:
        bits = e.bits(emit_canonical(e, emit_to_float(e, value, 16, mode)))
    if form.has("satfinite"):
        largest = _LARGEST[type_.name.removesuffix("x2")]
        bits = e.select(e.icmp("==", e.and_(bits, 0x7FFF), largest + 1), e.sub(bits, 1), bits)
    return bits if is_bf16(type_) else e.of_bits(bits)


def _to_16(form, a):
    return _narrowed(form, form.types[0], integral(form, _as_double(form.types[1], a)))


def _emit_to_16(e, form, a):
    return _emit_narrowed(e, form, form.types[0], emit_integral(e, form, _emit_as_float(e, form.types[1], a)))


def _from_bf16(form, a):
    return to_float(decode(form.types[1], a), form.types[0].dtype, mode_of(form.mods))


def _emit_from_bf16(e, form, a):
    return emit_to_float(e, emit_decode(e, form.types[1], a), form.types[0].bits, mode_of(form.mods))


def _to_pair(form, high, low):
    return join(*(_narrowed(form, form.types[0], source.astype(np.float64)) for source in (low, high)))


def _emit_to_pair(e, form, high, low):
    parts = (_emit_narrowed(e, form, form.types[0], source) for source in (low, high))
    return emit_join(e, *(part if e.is_int(part) else e.bits(part) for part in parts))


def _tf32(form, a):
    if form.has("relu"):
        a = np.where(a <= 0, np.float32(0), a)
    bits = a.view(np.uint32).astype(np.uint64)
    added = {"rna": 0x1000, "rz": 0}.get(form.mods[0], 0xFFF + (bits >> 13 & 1))
    rounded = bits + np.asarray(added, np.uint64) & 0xFFFFE000
    if form.has("satfinite"):
        rounded = np.where(rounded & 0x7FFFFFFF == 0x7F800000, rounded - 0x2000, rounded)
    return np.where(
        np.isnan(a), 0x7FFFFFFF, np.where(np.isinf(a) & ~np.array(form.has("satfinite")), bits, rounded)
    ).astype(np.uint32)


def _emit_tf32(e, form, a):
    if form.has("relu"):
        a = e.select(e.fcmp("<=", a, 0.0), 0.0, a)
    bits = e.bits(a)
    if form.mods[0] == "rn":
        rounded = e.add(e.add(bits, 0xFFF), e.and_(e.lshr(bits, 13), 1))
    else:
        rounded = e.add(bits, 0x1000 if form.mods[0] == "rna" else 0)
    rounded = e.and_(rounded, 0xFFFFE000)
    if form.has("satfinite"):
        infinite = e.icmp("==", e.and_(rounded, 0x7FFFFFFF), 0x7F800000)
        rounded = e.select(infinite, e.sub(rounded, 0x2000), rounded)
    return e.select(e.is_nan(a), 0x7FFFFFFF, rounded)


# fp8: (mantissa bits, bias, largest finite code); NaN is 0x7F in both.
_FP8 = {"e4m3x2": (3, 7, 0x7E), "e5m2x2": (2, 15, 0x7B)}


def _fp8_code(type_: PtxType, value: np.ndarray) -> np.ndarray:
    """Float64 to the nearest code of e4m3 or e5m2, saturating."""
    digits, bias, largest = _FP8[type_.name]
    codes = np.arange(largest + 1)
    spacing = 2.0 ** (np.maximum(codes >> digits, 1) - bias - digits)
    grid = np.where(codes >> digits > 0, (codes & (1 << digits) - 1) + (1 << digits), codes) * spacing
    size = np.minimum(np.abs(np.nan_to_num(value, nan=0.0, posinf=1e9, neginf=-1e9)), grid[-1])
    below = np.searchsorted(grid, size, side="right") - 1
    above = np.minimum(below + 1, largest)
    middle = (grid[below] + grid[above]) / 2
    nearest = np.where((size > middle) | ((size == middle) & (below % 2 == 1)), above, below)
    return np.where(np.isnan(value), 0x7F, nearest | np.signbit(value) * 0x80).astype(np.uint16)


def _to_fp8(form, *sources):
    values = [source.astype(np.float64) for source in reversed(sources)]
    if len(sources) == 1:
        values = [half.view(np.float16).astype(np.float64) for half in split(sources[0])]
    if form.has("relu"):
        values = [np.where(value <= 0, 0.0, value) for value in values]
    low, high = (_fp8_code(form.types[0], value) for value in values)
    return low | high << 8


def _emit_fp8_code(e, type_: PtxType, value):
    """Codes from the bits of a float: normal ones by rounding the mantissa, the small by adding a large number."""
    digits, bias, largest = _FP8[type_.name]
    size = e.intrinsic("llvm.fabs", value)
    bits, cut = e.bits(size), 23 - digits
    even = e.and_(e.lshr(bits, cut), 1)
    normal = e.lshr(e.add(e.add(bits, (1 << cut - 1) - 1), even), cut)
    normal = e.sub(normal, (127 - bias) << digits)
    shifter = 2.0 ** (23 - digits - bias + 1)
    small = e.sub(e.bits(e.fadd(size, shifter)), e.bits(e.const(size, shifter)))
    code = e.select(e.fcmp("<", size, 2.0 ** (1 - bias)), small, normal)
    code = e.intrinsic("llvm.smin", code, e.const(code, largest))
    code = e.or_(code, e.and_(e.lshr(e.bits(value), 24), 0x80))
    return e.trunc(e.select(e.is_nan(value), 0x7F, code), 16)


def _emit_to_fp8(e, form, *sources):
    values = list(reversed(sources))
    if len(sources) == 1:
        values = [e.fpext(e.of_bits(half), 32) for half in emit_split(e, sources[0])]
    if form.has("relu"):
        values = [e.select(e.fcmp("<=", value, 0.0), 0.0, value) for value in values]
    low, high = (_emit_fp8_code(e, form.types[0], value) for value in values)
    return e.or_(low, e.shl(high, 8))


def _from_fp8(form, a):
    digits, bias, largest = _FP8[form.types[1].name]
    halves = []
    for code in (a & 0xFF, a >> 8):
        size = (code & 0x7F).astype(int)
        exponent = size >> digits
        mantissa = (size & (1 << digits) - 1) + np.where(exponent > 0, 1 << digits, 0)
        value = mantissa * 2.0 ** (np.maximum(exponent, 1) - bias - digits)
        if form.types[1].name == "e5m2x2":
            value = np.where(size == largest + 1, np.inf, value)
        value = np.where(size > (0x7C if digits == 2 else 0x7E), np.nan, value)
        value = np.where(code & 0x80, -value, value)
        if form.has("relu"):
            value = np.where(value <= 0, 0.0, value)
        halves.append(canonical(value.astype(np.float16)))
    return join(*halves)


def _emit_from_fp8(e, form, a):
    digits, bias, _ = _FP8[form.types[1].name]
    halves = []
    for code in (e.and_(a, 0xFF), e.lshr(a, 8)):
        wide = e.zext(code, 32)
        size = e.of_bits(e.shl(e.and_(wide, 0x7F), 23 - digits))
        value = e.fmul(size, 2.0 ** (127 - bias))
        if digits == 2:
            value = e.select(e.icmp("==", e.and_(wide, 0x7F), 0x7C), float("inf"), value)
        is_nan = e.icmp(">", e.and_(wide, 0x7F), 0x7C if digits == 2 else 0x7E)
        value = e.select(is_nan, float("nan"), value)
        value = e.select(e.icmp("!=", e.and_(wide, 0x80), 0), e.fneg(value), value)
        if form.has("relu"):
            value = e.select(e.fcmp("<=", value, 0.0), 0.0, value)
        halves.append(e.bits(emit_canonical(e, e.fptrunc(value, 16))))
    return emit_join(e, *halves)


def _bf16_to_int(form, a):
    return to_int(form, decode(TYPES["bf16"], a).astype(np.float32))


def _emit_bf16_to_int(e, form, a):
    return emit_to_int(e, form, emit_decode(e, TYPES["bf16"], a))


def _cvt(forms: tuple[str, ...], evaluate, emit, since: tuple[str, int]) -> Op:
    return Op("cvt", forms, shape=_shape, eval=evaluate, emit=emit, since=since, section=_SECTION)


_INTS = "{u8,u16,u32,u64,s8,s16,s32,s64}"
_WHOLE, _MODES = "{rni,rzi,rmi,rpi}", "{rn,rz,rm,rp}"

ROWS = (
    _cvt(("cvt.{rn,rz}.{relu,satfinite,relu.satfinite}.{f16,bf16}.f32", "cvt.{rn,rz}.bf16.f32"), _to_16, _emit_to_16,
         ("7.0", 80)),
    _cvt(("cvt.{rm,rp}.bf16.f32", f"cvt.{_MODES}.bf16.{_INTS}", f"cvt.{_MODES}.bf16.{{f64,f16}}",
          f"cvt.{_MODES}.f16.bf16", f"cvt.{_WHOLE}.bf16.bf16"), _to_16, _emit_to_16, ("7.8", 90)),
    _cvt(("cvt.f32.bf16",), _from_bf16, _emit_from_bf16, ("7.1", 80)),
    _cvt(("cvt.f64.bf16",), _from_bf16, _emit_from_bf16, ("7.8", 90)),
    _cvt((f"cvt.{_WHOLE}.{_INTS}.bf16",), _bf16_to_int, _emit_bf16_to_int, ("7.8", 90)),
    _cvt(("cvt.{rn,rz}{.relu,.satfinite,.relu.satfinite}.{f16x2,bf16x2}.f32",), _to_pair, _emit_to_pair, ("7.0", 80)),
    _cvt(("cvt.rna{.satfinite}.tf32.f32",), _tf32, _emit_tf32, ("7.0", 80)),
    _cvt(("cvt.{rn,rz}{.relu}.tf32.f32",), _tf32, _emit_tf32, ("7.8", 90)),
    _cvt(("cvt.{rn,rz}.satfinite{.relu}.tf32.f32",), _tf32, _emit_tf32, ("8.6", 100)),
    _cvt(("cvt.rn.satfinite{.relu}.{e4m3x2,e5m2x2}.{f32,f16x2}",), _to_fp8, _emit_to_fp8, ("7.8", 89)),
    _cvt(("cvt.rn{.relu}.f16x2.{e4m3x2,e5m2x2}",), _from_fp8, _emit_from_fp8, ("7.8", 89)),
)  # fmt: skip
