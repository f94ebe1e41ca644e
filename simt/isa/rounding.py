"""How floats are rounded, flushed, saturated and made canonical: the meaning in NumPy, the same in LLVM IR.

`exact` rounds any result correctly in any mode by rational arithmetic, one lane at a time; it is the definition that
everything else has to agree with. The IR relies on the host's IEEE arithmetic instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

__all__ = [
    "CANONICAL",
    "canonical",
    "emit_canonical",
    "emit_flush",
    "emit_flush_result",
    "emit_odd",
    "emit_odd_sum",
    "emit_saturate",
    "exact",
    "flush",
    "flush_result",
    "mode_of",
    "odd_float32",
    "odd_sum",
    "rounded",
    "saturate",
]

CANONICAL = {16: 0x7FFF, 32: 0x7FFFFFFF, 64: 0x7FFFFFFFFFFFFFFF}  # PTX ISA, the NaN that arithmetic makes

# How `flush_result` scales: the operations whose small results are rounded at all, and which sources grow.
_SCALE = 2.0**24
_SCALED = {"mul": (True, False), "div": (True, False), "fma": (True, False, True)}

_FORMATS = {"float16": (11, -24, 16), "float32": (24, -149, 128), "float64": (53, -1074, 1024)}


def mode_of(mods: tuple[str, ...]) -> str:
    """The rounding modifier of an opcode, `rn` when it has none."""
    return next((mod for mod in mods if mod in ("rn", "rz", "rm", "rp")), "rn")


def _floor_log2(value: Fraction) -> int:
    guess = value.numerator.bit_length() - value.denominator.bit_length()
    return guess if value >= Fraction(2) ** guess else guess - 1


def rounded(value: Fraction, dtype: str, mode: str) -> float:
    """The float of `dtype` that a non-zero rational rounds to; a zero result has the sign of `value`."""
    digits, lowest, highest = _FORMATS[dtype]
    negative, magnitude = value < 0, abs(value)
    exponent = max(_floor_log2(magnitude) - digits + 1, lowest)
    scaled = magnitude / Fraction(2) ** exponent
    whole = math.floor(scaled)
    rest = scaled - whole
    away = {"rz": False, "rm": negative and rest > 0, "rp": not negative and rest > 0}.get(mode)
    if away is None:
        away = rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2 == 1)
    whole += away
    if whole and whole.bit_length() + exponent > highest:
        outward = mode == "rn" or mode == ("rm" if negative else "rp")
        result = math.inf if outward else math.ldexp(2**digits - 1, highest - digits)
    else:
        result = math.ldexp(whole, exponent)
    return -result if negative else result


def _nearest(operation: str, sources: tuple[np.ndarray, ...]) -> np.ndarray:
    """NumPy's own answer: right for infinities, NaN and exact zeros, whatever the mode."""
    a, *rest = sources
    if operation == "sqrt":
        return np.sqrt(a)
    if operation == "fma":
        b, c = rest
        product_is_finite = np.isfinite(a) & np.isfinite(b)
        return np.where(product_is_finite & ~np.isfinite(c), c, a * b + c)
    return {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}[operation](a, rest[0])


def _rational(operation: str, a: float, *rest: float) -> Fraction:
    """The exact result; of a square root, one with enough digits and a sticky last one."""
    x = Fraction(a)
    others = [Fraction(value) for value in rest]
    if operation == "sqrt":
        scaled = math.floor(x * 4**1200)
        root = math.isqrt(scaled)
        return Fraction(2 * root + (root * root != scaled), 2**1201)
    if operation == "fma":
        return x * others[0] + others[1]
    y = others[0]
    return {"add": lambda: x + y, "sub": lambda: x - y, "mul": lambda: x * y, "div": lambda: x / y}[operation]()


def _zero(operation: str, mode: str, nearest: float, sources: tuple[float, ...]) -> float:
    """An exact zero: a sum of opposites is -0 only when rounding down."""
    if operation in ("mul", "div", "sqrt"):
        return nearest
    signs = [math.copysign(1, value) for value in sources]
    terms = (signs[0] * signs[1], signs[2]) if operation == "fma" else (signs[0], signs[1])
    if operation == "sub":
        terms = (terms[0], -terms[1])
    if terms[0] == terms[1]:
        return math.copysign(0.0, terms[0])
    return -0.0 if mode == "rm" else 0.0


def exact(operation: str, mode: str, *sources: np.ndarray) -> np.ndarray:
    """`add`, `sub`, `mul`, `div`, `fma` or `sqrt`, rounded once, to the sources' dtype, in mode rn, rz, rm or rp."""
    dtype = sources[0].dtype.name
    with np.errstate(all="ignore"):
        nearest = _nearest(operation, sources)
        if mode == "rn" and operation != "fma":
            return nearest
        if mode == "rn" and dtype == "float32":  # the product is exact in double, and so is what the odd sum says
            a, b, c = (source.astype(np.float64) for source in sources)
            return odd_sum(a * b, c).astype(np.float32)
        result = nearest.copy()
        for lane in range(result.size):
            values = tuple(float(source[lane]) for source in sources)
            divides_by_zero = operation == "div" and values[1] == 0
            if not all(map(math.isfinite, values)) or divides_by_zero or (operation == "sqrt" and values[0] < 0):
                continue
            value = _rational(operation, *values)
            result[lane] = (
                rounded(value, dtype, mode) if value else _zero(operation, mode, float(nearest[lane]), values)
            )
    return result


def odd_sum(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The float64 sum rounded to odd: when inexact its last bit is set, so that it can be rounded again."""
    with np.errstate(invalid="ignore", over="ignore"):
        total = a + b
        back = total - a
        error = (a - (total - back)) + (b - back)
    bits = total.view(np.int64)
    step = np.where((error > 0) == (total > 0), 1, -1)
    inexact = np.isfinite(total) & (error != 0) & (bits & 1 == 0)
    return np.where(inexact, bits + step, bits).view(np.float64)


def emit_odd_sum(e, a, b):
    """`odd_sum` in IR."""
    total = e.fadd(a, b)
    back = e.fsub(total, a)
    error = e.fadd(e.fsub(a, e.fsub(total, back)), e.fsub(b, back))
    bits = e.bits(total)
    same_side = e.icmp(">=", e.xor(e.bits(error), bits), 0, signed=True)
    inexact = e.and_(e.fcmp("!=", error, 0.0), e.icmp("==", e.and_(bits, 1), 0))
    return e.of_bits(e.add(bits, e.select(inexact, e.select(same_side, 1, e.const(bits, -1)), 0)))


def flush(a: np.ndarray) -> np.ndarray:
    """Subnormal numbers replaced by zero of their sign, as `.ftz` does."""
    return np.where(np.abs(a) < np.finfo(a.dtype).smallest_normal, np.copysign(a.dtype.type(0), a), a)


def emit_flush(e, a):
    """`flush` in IR."""
    bits = e.bits(a)
    width = e.width(a)
    exponent, sign = {16: (0x7C00, 1 << 15), 32: (0x7F800000, 1 << 31)}[width]
    is_tiny = e.icmp("==", e.and_(bits, exponent), 0)
    return e.of_bits(e.select(is_tiny, e.and_(bits, sign), bits))


def flush_result(operation: str, mode: str, value: np.ndarray, sources: tuple[np.ndarray, ...]) -> np.ndarray:
    """A result of `exact` with `.ftz`: flushed when it is subnormal once rounded to full precision.

    Rounded so, with no lower bound to the exponent, some numbers reach the smallest normal number that are flushed by
    others' definition, and the other way round; this is what an H200 does. Larger sources stand for the missing bound.
    """
    if operation not in _SCALED:
        return flush(value)
    with np.errstate(over="ignore"):
        scale = value.dtype.type(_SCALE)
        grown = (s * scale if grows else s for s, grows in zip(sources, _SCALED[operation], strict=True))
        tiny = np.abs(exact(operation, mode, *grown)) < np.finfo(value.dtype).smallest_normal * scale
    return np.where(tiny, np.copysign(value.dtype.type(0), value), value)


def emit_flush_result(e, operation: str, compute: Callable, sources):
    """`flush_result` of f32 in IR; `compute` carries the operation out in its rounding mode."""
    value = compute(*sources)
    if operation not in _SCALED:
        return emit_flush(e, value)
    scaled = compute(*(e.fmul(s, _SCALE) if grows else s for s, grows in zip(sources, _SCALED[operation], strict=True)))
    tiny = e.fcmp("<", e.intrinsic("llvm.fabs", scaled), 2.0**-126 * _SCALE)
    return e.select(tiny, e.intrinsic("llvm.copysign", e.const(value, 0.0), value), value)


def canonical(a: np.ndarray) -> np.ndarray:
    """Every NaN replaced by the canonical one of its width."""
    bits = 8 * a.dtype.itemsize
    nan = np.array(CANONICAL[bits], f"uint{bits}").view(a.dtype)
    return np.where(np.isnan(a), nan, a)


def emit_canonical(e, a):
    """`canonical` in IR."""
    return e.select(e.is_nan(a), e.float_bits(a, CANONICAL[e.width(a)]), a)


def saturate(a: np.ndarray) -> np.ndarray:
    """Clamped to [0, 1]; NaN and -0 become +0."""
    one = a.dtype.type(1)
    return np.where(a > 0, np.where(a < 1, a, one), a.dtype.type(0))


def emit_saturate(e, a):
    """`saturate` in IR."""
    return e.select(e.fcmp(">", a, 0.0), e.select(e.fcmp("<", a, 1.0), a, 1.0), 0.0)


def odd_float32(a: np.ndarray) -> np.ndarray:
    """Float64 rounded to float32 "to odd": an inexact result has its last bit set and can be rounded again."""
    with np.errstate(over="ignore"):
        near = a.astype(np.float32)
    bits = near.view(np.int32)
    truncated = bits - (np.abs(near.astype(np.float64)) > np.abs(a))
    inexact = ~(near.astype(np.float64) == a)
    return np.where(np.isnan(a), near, (truncated | inexact).view(np.float32)).astype(np.float32)


def emit_odd(e, a):
    """`odd_float32` in IR."""
    near = e.fptrunc(a, 32)
    back = e.fpext(near, 64)
    too_far = e.fcmp(">", e.intrinsic("llvm.fabs", back), e.intrinsic("llvm.fabs", a))
    truncated = e.sub(e.bits(near), e.zext(too_far, 32))
    inexact = e.fcmp("!=", back, a, unordered=True)
    return e.of_bits(e.or_(truncated, e.zext(inexact, 32)))
