"""The `.approx` functions: rsqrt sin cos lg2 ex2 tanh, and the coarse f64 rcp and rsqrt.

Results are correctly rounded where the ISA allows an error. `sin` and `cos` first turn radians into turns with a float's
digits, rounded towards zero, as an H200 does (within 2^-21.5 for any argument): their error grows as it does there.
"""

from __future__ import annotations

import numpy as np

from simt.isa.floating import emit_finished, emit_prepared, finished, prepared
from simt.isa.op import Form, Op
from simt.isa.series import emit_exp2, emit_log2, emit_sine_of_turns, emit_tanh
from simt.isa.shapes import same

__all__ = ["ROWS"]

_SECTION = "Floating Point Instructions: "
_TURNS = float(np.float32(0.15915494))  # 1 / (2 pi)
_FLOAT32_DIGITS = 0xFFFFFFFFE0000000  # of a double: what a float's mantissa holds
_HIGH = 0xFFFFFFFF00000000


def _through_double(function, emit_function):
    """(eval, emit) of an f32 row that computes in double and rounds once."""

    def evaluate(form, a):
        (a,) = prepared(form, (a,))
        with np.errstate(all="ignore"):
            return finished(form, function(a.astype(np.float64)).astype(np.float32))

    def emit(e, form, a):
        (a,) = emit_prepared(e, form, (a,))
        return emit_finished(e, form, e.fptrunc(emit_function(e, e.fpext(a, 64)), 32))

    return {"eval": evaluate, "emit": emit}


def _rsqrt(a):
    with np.errstate(all="ignore"):
        return 1 / np.sqrt(a)


def _emit_rsqrt(e, a):
    return e.fdiv(e.const(a, 1.0), e.intrinsic("llvm.sqrt", a))


def _fraction(a: np.ndarray) -> np.ndarray:
    """Angles in turns, in [-1/2, 1/2], exact after the one multiplication; a zero keeps its sign."""
    product = a.astype(np.float64) * _TURNS
    turns = (product.view(np.uint64) & np.uint64(_FLOAT32_DIGITS)).view(np.float64)
    fraction = turns - np.rint(turns)
    return np.where(fraction == 0, np.copysign(0.0, turns), fraction)


def _sin(form, a):
    (a,) = prepared(form, (a,))
    with np.errstate(invalid="ignore"):
        turns = _fraction(a)
    folded = np.where(np.abs(turns) > 0.25, np.copysign(0.5, turns) - turns, turns)
    return finished(form, np.sin(2 * np.pi * folded).astype(np.float32))


def _cos(form, a):
    (a,) = prepared(form, (a,))
    with np.errstate(invalid="ignore"):
        turns = np.abs(_fraction(a))
    return finished(form, np.sin(2 * np.pi * (0.25 - turns)).astype(np.float32))


def _emit_fraction(e, a):
    turns = e.of_bits(e.and_(e.bits(e.fmul(e.fpext(a, 64), _TURNS)), _FLOAT32_DIGITS))
    fraction = e.fsub(turns, e.intrinsic("llvm.roundeven", turns))
    zero = e.intrinsic("llvm.copysign", e.const(turns, 0.0), turns)
    return e.select(e.fcmp("==", fraction, 0.0), zero, fraction)


def _emit_sin(e, form, a):
    (a,) = emit_prepared(e, form, (a,))
    turns = _emit_fraction(e, a)
    beyond = e.fcmp(">", e.intrinsic("llvm.fabs", turns), 0.25)
    mirrored = e.fsub(e.intrinsic("llvm.copysign", e.const(turns, 0.5), turns), turns)
    value = emit_sine_of_turns(e, e.select(beyond, mirrored, turns))
    return emit_finished(e, form, e.fptrunc(value, 32))


def _emit_cos(e, form, a):
    (a,) = emit_prepared(e, form, (a,))
    turns = e.intrinsic("llvm.fabs", _emit_fraction(e, a))
    value = emit_sine_of_turns(e, e.fsub(e.const(turns, 0.25), turns))
    return emit_finished(e, form, e.fptrunc(value, 32))


def _coarse(a: np.ndarray) -> np.ndarray:
    """Only the upper 32 bits of a double, subnormal numbers flushed."""
    high = (a.view(np.uint64) & np.uint64(_HIGH)).view(np.float64)
    return np.where(np.abs(high) < np.finfo(np.float64).smallest_normal, np.copysign(0.0, a), high)


def _rounded_high(a: np.ndarray) -> np.ndarray:
    return ((a.view(np.uint64) + np.uint64(1 << 31)) & np.uint64(_HIGH)).view(np.float64)


def _coarse_row(function):
    def evaluate(form, a):
        with np.errstate(all="ignore"):
            value = function(_coarse(a))
        return np.where(np.isnan(value), value, _coarse(_rounded_high(value)))

    return evaluate


def _emit_coarse(e, a):
    bits = e.and_(e.bits(a), _HIGH)
    tiny = e.icmp("==", e.and_(bits, 0x7FF << 52), 0)
    return e.of_bits(e.select(tiny, e.and_(bits, 1 << 63), bits))


def _emit_coarse_row(function):
    def emit(e, form, a):
        value = function(e, _emit_coarse(e, a))
        rounded = e.of_bits(e.and_(e.add(e.bits(value), 1 << 31), _HIGH))
        return e.select(e.is_nan(value), value, _emit_coarse(e, rounded))

    return emit


def _bound(ulp: float):
    return lambda form: ulp


def _f32(name: str, functions: dict, ulp: float, since: tuple[str, int] = ("1.4", 0), ftz: str = "{.ftz}") -> Op:
    return Op(
        name,
        (f"{name}.approx{ftz}.f32",),
        shape=same(1),
        since=since,
        section=_SECTION + name,
        ulp=_bound(ulp),
        **functions,
    )


def _is_coarse(form: Form) -> float:
    return 2.0**32 if form.has("ftz") else 2


ROWS = (
    _f32("rsqrt", _through_double(_rsqrt, _emit_rsqrt), 2),
    _f32("sin", {"eval": _sin, "emit": _emit_sin}, -20.5),
    _f32("cos", {"eval": _cos, "emit": _emit_cos}, -20.5),
    _f32("lg2", _through_double(np.log2, emit_log2), -22),
    _f32("ex2", _through_double(np.exp2, emit_exp2), 2),
    _f32("tanh", _through_double(np.tanh, emit_tanh), 2.0**13, ("7.0", 75), ""),
    Op("rsqrt", ("rsqrt.approx.f64",), shape=same(1), eval=lambda form, a: _rsqrt(a),
       emit=lambda e, form, a: _emit_rsqrt(e, a), section=_SECTION + "rsqrt", ulp=_is_coarse),
    Op("rsqrt", ("rsqrt.approx.ftz.f64",), shape=same(1), eval=_coarse_row(_rsqrt), emit=_emit_coarse_row(_emit_rsqrt),
       since=("4.0", 20), section=_SECTION + "rsqrt.approx.ftz.f64", ulp=_is_coarse),
    Op("rcp", ("rcp.approx.ftz.f64",), shape=same(1), eval=_coarse_row(lambda a: 1 / a),
       emit=_emit_coarse_row(lambda e, a: e.fdiv(e.const(a, 1.0), a)), since=("2.1", 20),
       section=_SECTION + "rcp.approx.ftz.f64", ulp=_is_coarse),
)  # fmt: skip
