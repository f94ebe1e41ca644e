"""Elementary functions in double precision, written as vector IR: 2^x, log2, sine of a fraction of a turn, tanh.

Each is accurate to about 2^-50, so that rounding to f32 or narrower gives the correctly rounded result in all but a few
cases in 2^25. No call to a scalar library remains.
"""

from __future__ import annotations

import math

__all__ = ["emit_exp2", "emit_log2", "emit_sine_of_turns", "emit_tanh"]

_LN2 = math.log(2)
_EXP2 = tuple(_LN2**k / math.factorial(k) for k in range(13))
_ATANH = tuple(2 / _LN2 / (2 * k + 1) for k in range(12))
_SINE = tuple((-1) ** k * (2 * math.pi) ** (2 * k + 1) / math.factorial(2 * k + 1) for k in range(12))
_TANH = (1.0, -1 / 3, 2 / 15, -17 / 315)
_SHIFTER = 1.5 * 2.0**52  # adding it leaves an integer in the low bits of a double
_MANTISSA = (1 << 52) - 1


def _polynomial(e, x, coefficients: tuple[float, ...]):
    """Horner's scheme; `coefficients` from the constant term up."""
    *lower, last = coefficients
    result = e.const(x, last)
    for coefficient in reversed(lower):
        result = e.intrinsic("llvm.fma", result, x, e.const(x, coefficient))
    return result


def emit_exp2(e, x):
    """2**x of doubles; exact powers are exact, beyond ±1000 it is clamped, NaN stays."""
    x = e.select(e.fcmp(">", x, 1000.0), 1000.0, x)
    x = e.select(e.fcmp("<", x, -1000.0), -1000.0, x)
    shifted = e.fadd(x, _SHIFTER)
    fraction = e.fsub(x, e.fsub(shifted, _SHIFTER))
    scale = e.of_bits(e.add(e.shl(e.bits(shifted), 52), 1023 << 52))
    return e.fmul(_polynomial(e, fraction, _EXP2), scale)


def emit_log2(e, x):
    """log2 of doubles that are normal numbers, zeros, infinities or NaN."""
    # The mantissa is taken from [sqrt(1/2), sqrt(2)), by counting exponents from there.
    offset = 0x3FE6A09E667F3BCD
    moved = e.sub(e.bits(x), offset)
    exponent = e.ashr(moved, 52)
    mantissa = e.of_bits(e.add(e.and_(moved, _MANTISSA), offset))
    ratio = e.fdiv(e.fsub(mantissa, 1.0), e.fadd(mantissa, 1.0))
    series = e.fmul(_polynomial(e, e.fmul(ratio, ratio), _ATANH), ratio)
    result = e.fadd(e.sitofp(e.trunc(exponent, 32), 64), series)
    result = e.select(e.fcmp("==", x, float("inf")), x, result)
    result = e.select(e.fcmp("==", x, 0.0), -float("inf"), result)
    return e.select(e.fcmp(">=", x, 0.0), result, float("nan"))


def emit_sine_of_turns(e, x):
    """sin(2 pi x) of doubles within a quarter turn, |x| <= 1/4."""
    return e.fmul(_polynomial(e, e.fmul(x, x), _SINE), x)


def emit_tanh(e, x):
    """tanh of doubles, accurate in relative terms near zero as well."""
    size = e.intrinsic("llvm.fabs", x)
    decay = emit_exp2(e, e.fmul(size, -2 / _LN2))
    large = e.fdiv(e.fsub(e.const(x, 1.0), decay), e.fadd(decay, 1.0))
    small = e.fmul(_polynomial(e, e.fmul(x, x), _TANH), x)
    return e.select(e.fcmp("<", size, 2.0**-8), small, e.intrinsic("llvm.copysign", large, x))
