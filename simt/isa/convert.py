"""Conversion between the scalar types: cvt. Packed and narrow float formats are in `simt.isa.narrow`."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from simt.isa.op import Form, Op, Shape
from simt.isa.rounding import (
    canonical,
    emit_canonical,
    emit_flush,
    emit_odd,
    emit_saturate,
    flush,
    mode_of,
    rounded,
    saturate,
)
from simt.ptx.types import TYPES

__all__ = ["ROWS", "emit_from_int", "emit_integral", "emit_to_float", "emit_to_int", "integral", "to_float", "to_int"]

_LEAST, _SCALE = 2.0**-126, 2.0**24  # smallest normal f32; what lifts a small number clear of it
_SECTION = "Data Movement and Conversion Instructions: cvt"


def _shape(form: Form) -> Shape:
    result, source = form.types
    return Shape((result,), (source,))


def _int_to_int(form, a):
    result = form.types[0]
    if form.has("sat"):
        info = np.iinfo(result.dtype)
        return np.clip(a.astype(object), info.min, info.max).astype(result.dtype)
    return a.astype(result.dtype)


def _emit_int_to_int(e, form, a):
    result, source = form.types
    if form.has("sat"):
        info = np.iinfo(result.dtype)
        if source.is_signed:
            reach = 1 << source.bits - 1
            a = _clamped(e, a, "s", max(int(info.min), -reach), min(int(info.max), reach - 1))
        else:
            a = _clamped(e, a, "u", 0, min(int(info.max), (1 << source.bits) - 1))
    return e.resize(a, result.bits, source.is_signed)


def _clamped(e, a, sign: str, low: int, high: int):
    return e.intrinsic(f"llvm.{sign}max", e.intrinsic(f"llvm.{sign}min", a, e.const(a, high)), e.const(a, low))


_INTEGRAL = {
    "rni": (np.rint, "roundeven"),
    "rzi": (np.trunc, "trunc"),
    "rmi": (np.floor, "floor"),
    "rpi": (np.ceil, "ceil"),
}


def integral(form: Form, a: np.ndarray) -> np.ndarray:
    """`a` rounded to an integral float as the form's rni, rzi, rmi or rpi says, else unchanged."""
    mode = next((mod for mod in form.mods if mod in _INTEGRAL), None)
    return _INTEGRAL[mode][0](a) if mode else a


def emit_integral(e, form: Form, a):
    """`integral` in IR."""
    mode = next((mod for mod in form.mods if mod in _INTEGRAL), None)
    return e.intrinsic(f"llvm.{_INTEGRAL[mode][1]}", a) if mode else a


def _of_nan(form: Form) -> int:
    """What NaN becomes (PTX ISA, cvt): 0 between types of at most 32 bits, else only the top bit."""
    result, source = form.types
    return 1 << result.bits - 1 if source.bits == 64 or result.bits == 64 else 0


def to_int(form: Form, a: np.ndarray) -> np.ndarray:
    """Floats to the form's integer type, saturating."""
    result = form.types[0]
    info = np.iinfo(result.dtype)
    whole = integral(form, flush(a) if form.has("ftz") else a)
    values = np.zeros(a.shape, object)
    for lane, value in enumerate(whole.tolist()):
        if math.isnan(value):
            values[lane] = _of_nan(form) - (info.max + 1) * 2 * (result.is_signed and _of_nan(form) != 0)
        elif math.isinf(value):
            values[lane] = info.max if value > 0 else info.min
        else:
            values[lane] = min(max(int(value), info.min), info.max)
    return values.astype(result.dtype)


def emit_to_int(e, form: Form, a):
    """`to_int` in IR."""
    result = form.types[0]
    if form.has("ftz"):
        a = emit_flush(e, a)
    if e.width(a) == 16:  # LLVM 22 turns a half NaN into the smallest i16
        a = e.fpext(a, 32)
    value = e.to_int(emit_integral(e, form, a), result.bits, result.is_signed)
    return e.select(e.is_nan(a), _of_nan(form), value) if _of_nan(form) else value


def to_float(value: np.ndarray, dtype: str, mode: str) -> np.ndarray:
    """Numbers of any dtype rounded once to a float dtype, keeping zeros' signs, infinities and NaN."""
    with np.errstate(over="ignore", invalid="ignore"):
        nearest = value.astype(dtype)
    if mode == "rn":
        return nearest
    result = nearest.copy()
    for lane, exact in enumerate(value.tolist()):
        if exact and math.isfinite(exact):
            result[lane] = rounded(Fraction(exact), dtype, mode)
    return result


def emit_to_float(e, a, bits: int, mode: str):
    """A float rounded, or extended, to a float of another width."""
    width = e.width(a)
    if width <= bits:
        return a if width == bits else e.fpext(a, bits)
    if width == 64 and bits == 16:
        a = emit_odd(e, a)
    if mode == "rn":
        return e.fptrunc(a, bits)
    return _emit_directed_half(e, a, mode) if bits == 16 else e.rounded("fptrunc", mode, a, bits=bits)


def _emit_directed_half(e, a, mode: str):
    """Float to half rounded rz, rm or rp: the nearest one, or its neighbour where that lies on the wrong side.

    LLVM 22 cannot narrow a vector to half under a rounding mode on a CPU without AVX-512.
    """
    near = e.fptrunc(a, 16)
    back, bits = e.fpext(near, 32), e.bits(near)
    negative = e.icmp("<", bits, 0, signed=True)
    outward, inward = e.add(bits, 1), e.sub(bits, 1)
    if mode == "rz":
        wrong = e.fcmp(">", e.intrinsic("llvm.fabs", back), e.intrinsic("llvm.fabs", a))
        neighbour = inward
    else:
        wrong = e.fcmp("<" if mode == "rp" else ">", back, a)
        neighbour = e.select(negative, inward, outward) if mode == "rp" else e.select(negative, outward, inward)
    return e.of_bits(e.select(wrong, neighbour, bits))


def _finished(form: Form, value: np.ndarray) -> np.ndarray:
    if form.has("sat"):
        return saturate(value)
    return value if value.dtype == np.float64 else canonical(value)


def _emit_finished(e, form: Form, value):
    if form.has("sat"):
        return emit_saturate(e, value)
    return value if form.types[0].bits == 64 else emit_canonical(e, value)


def _flushes_source(form: Form) -> bool:
    """Whether `.ftz` reaches the source: of an f32 that narrows to f16 it does not, as an H200 shows."""
    return form.has("ftz") and form.types[1].bits == 32 and form.types[0].bits != 16


def _flushes_result(form: Form) -> bool:
    """Whether `.ftz` reaches an f32 that a double narrows to: where it is subnormal once rounded to 24 bits."""
    return form.has("ftz") and form.types[0].bits == 32 and form.types[1].bits == 64


def _float_to_float(form, a):
    if _flushes_source(form):
        a = flush(a)
    if _flushes_result(form):
        tiny = np.abs(to_float(a * _SCALE, "float32", mode_of(form.mods))) < _LEAST * _SCALE
        a = np.where(tiny, np.copysign(0.0, a), a)
    return _finished(form, to_float(integral(form, a), form.types[0].dtype, mode_of(form.mods)))


def _emit_float_to_float(e, form, a):
    if _flushes_source(form):
        a = emit_flush(e, a)
    if _flushes_result(form):
        scaled = emit_to_float(e, e.fmul(a, _SCALE), 32, mode_of(form.mods))
        tiny = e.fcmp("<", e.intrinsic("llvm.fabs", scaled), _LEAST * _SCALE)
        a = e.select(tiny, e.intrinsic("llvm.copysign", e.const(a, 0.0), a), a)
    return _emit_finished(e, form, emit_to_float(e, emit_integral(e, form, a), form.types[0].bits, mode_of(form.mods)))


def emit_from_int(e, a, signed: bool, bits: int, mode: str):
    """An integer rounded once to a float of `bits`."""
    if bits == 16:  # by way of double: exact to 53 bits, and integers past that are past the largest f16 as well
        return emit_to_float(e, e.sitofp(a, 64) if signed else e.uitofp(a, 64), 16, mode)
    if mode == "rn" or e.width(a) < 32 or (e.width(a) == 32 and bits == 64):
        return e.sitofp(a, bits) if signed else e.uitofp(a, bits)
    value = e.rounded("sitofp" if signed else "uitofp", mode, a, bits=bits)
    if signed or mode != "rm":
        return value
    return e.intrinsic("llvm.fabs", value)  # without AVX-512 LLVM's sequence for 0 ends in 0 - 0, which is -0 here


def _int_to_float(form, a):
    return _finished(form, to_float(a, form.types[0].dtype, mode_of(form.mods)))


def _emit_int_to_float(e, form, a):
    value = emit_from_int(e, a, form.types[1].is_signed, form.types[0].bits, mode_of(form.mods))
    return emit_saturate(e, value) if form.has("sat") else value


def _narrowing() -> tuple[str, ...]:
    """The integer conversions that can overflow, which alone take `.sat`."""
    types = [TYPES[f"{kind}{bits}"] for kind in "us" for bits in (8, 16, 32, 64)]
    ranges = {type_.name: (int(np.iinfo(type_.dtype).min), int(np.iinfo(type_.dtype).max)) for type_ in types}
    return tuple(
        f"cvt.sat.{to}.{source}"
        for to, (low, high) in ranges.items()
        for source, (least, most) in ranges.items()
        if least < low or most > high
    )


_INTS = "{u8,u16,u32,u64,s8,s16,s32,s64}"
_WHOLE, _MODES = "{rni,rzi,rmi,rpi}", "{rn,rz,rm,rp}"

ROWS = (
    Op("cvt", (f"cvt.{_INTS}.{_INTS}", *_narrowing()), shape=_shape, eval=_int_to_int, emit=_emit_int_to_int,
       section=_SECTION),
    Op("cvt", (f"cvt.{_WHOLE}{{.ftz}}{{.sat}}.{_INTS}.f32", f"cvt.{_WHOLE}{{.sat}}.{_INTS}.{{f16,f64}}"),
       shape=_shape, eval=lambda form, a: to_int(form, a), emit=emit_to_int, section=_SECTION),
    Op("cvt", (f"cvt.{_MODES}{{.sat}}.{{f16,f32,f64}}.{_INTS}",), shape=_shape, eval=_int_to_float,
       emit=_emit_int_to_float, section=_SECTION),
    Op("cvt", (
        "cvt{.ftz}{.sat}.f32.f32", "cvt{.sat}.f64.f64", "cvt{.sat}.f16.f16",
        f"cvt.{_WHOLE}{{.ftz}}{{.sat}}.f32.f32", f"cvt.{_WHOLE}{{.sat}}.{{f64.f64,f16.f16}}",
        "cvt{.ftz}{.sat}.f32.f16", "cvt{.ftz}{.sat}.f64.f32", "cvt{.sat}.f64.f16",
        f"cvt.{_MODES}{{.ftz}}{{.sat}}.f32.f64", f"cvt.{_MODES}{{.ftz}}{{.sat}}.f16.f32",
        f"cvt.{_MODES}{{.sat}}.f16.f64",
    ), shape=_shape, eval=_float_to_float, emit=_emit_float_to_float, section=_SECTION),
)  # fmt: skip
