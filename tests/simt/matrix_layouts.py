"""Fragment layouts of mma.sync as the PTX ISA spells them, form by form, written down apart from `simt.isa.fragments`.

Each function gives (row, column) of element i in a lane, with g = lane / 4 and t = lane mod 4. Source: PTX ISA 9.0,
"Matrix Fragments for mma.m16n8k4", "…m16n8k8", "…m16n8k16", "…m16n8k32", "…m8n8k4 with .f64", "…m8n8k16".
"""

import numpy as np

__all__ = ["MMA", "float8_values", "gather", "spread"]


def _accumulator(i, g, t):
    return g + 8 * (i // 2), 2 * t + i % 2


F16_K8 = (lambda i, g, t: (g + 8 * (i >= 2), 2 * t + i % 2), lambda i, g, t: (2 * t + i, g), _accumulator)
F16_K16 = (
    lambda i, g, t: (g if i in (0, 1, 4, 5) else g + 8, 2 * t + i % 2 + 8 * (i >= 4)),
    lambda i, g, t: (2 * t + i % 2 + 8 * (i >= 2), g),
    _accumulator,
)
TF32_K4 = (lambda i, g, t: (g + 8 * i, t), lambda i, g, t: (t, g), _accumulator)
TF32_K8 = (lambda i, g, t: (g + 8 * (i % 2), t + 4 * (i >= 2)), lambda i, g, t: (t + 4 * i, g), _accumulator)
F64_K4 = (lambda i, g, t: (g, t), lambda i, g, t: (t, g), _accumulator)
F64_M16 = (lambda i, g, t: (g + 8 * (i % 2), t + 4 * (i // 2)), lambda i, g, t: (t + 4 * i, g), _accumulator)
S8_M8K16 = (lambda i, g, t: (g, 4 * t + i), lambda i, g, t: (4 * t + i, g), _accumulator)
S8_K16 = (lambda i, g, t: (g + 8 * (i >= 4), 4 * t + i % 4), lambda i, g, t: (4 * t + i, g), _accumulator)
S8_K32 = (
    lambda i, g, t: (g if i < 4 or 8 <= i < 12 else g + 8, 4 * t + i % 4 + 16 * (i >= 8)),
    lambda i, g, t: (4 * t + i % 4 + 16 * (i >= 4), g),
    _accumulator,
)
# (shape, types of d a b c) -> layouts of a, b and the accumulators.
MMA = {
    ("m16n8k8", "f32.f16.f16.f32"): F16_K8, ("m16n8k8", "f16.f16.f16.f16"): F16_K8,
    ("m16n8k16", "f32.f16.f16.f32"): F16_K16, ("m16n8k16", "f16.f16.f16.f16"): F16_K16,
    ("m16n8k8", "f32.bf16.bf16.f32"): F16_K8, ("m16n8k16", "f32.bf16.bf16.f32"): F16_K16,
    ("m16n8k4", "f32.tf32.tf32.f32"): TF32_K4, ("m16n8k8", "f32.tf32.tf32.f32"): TF32_K8,
    ("m8n8k4", "f64.f64.f64.f64"): F64_K4, ("m8n8k16", "s32.s8.u8.s32"): S8_M8K16,
    ("m16n8k16", "s32.s8.s8.s32"): S8_K16, ("m16n8k16", "s32.u8.s8.s32"): S8_K16,
    ("m16n8k4", "f64.f64.f64.f64"): F64_M16, ("m16n8k8", "f64.f64.f64.f64"): F64_M16,
    ("m16n8k16", "f64.f64.f64.f64"): F64_M16, ("m16n8k32", "f32.e4m3.e5m2.f32"): S8_K32,
    ("m16n8k32", "f16.e4m3.e4m3.f16"): S8_K32, ("m16n8k16", "f32.e5m2.e5m2.f32"): S8_K16,
    ("m16n8k32", "s32.s8.s8.s32"): S8_K32, ("m16n8k32", "s32.u8.u8.s32"): S8_K32,
}  # fmt: skip


_FLOAT8 = {"e4m3": (4, 3, 7), "e5m2": (5, 2, 15)}  # bits of the exponent and the mantissa, bias


def float8_values(codes, kind):
    """Values of finite 8-bit floats, by their fields."""
    exponent_bits, mantissa_bits, bias = _FLOAT8[kind]
    codes = codes.astype(int)
    exponent, mantissa = codes >> mantissa_bits & (1 << exponent_bits) - 1, codes & (1 << mantissa_bits) - 1
    scale = 2.0 ** (np.where(exponent == 0, 1, exponent) - bias - mantissa_bits)
    value = np.where(exponent == 0, mantissa, mantissa + (1 << mantissa_bits)) * scale
    return np.where(codes >> 7, -value, value)


def spread(matrix, layout):
    """(32, elements of a lane): a matrix as its lanes hold it, elements one after the other."""
    n = matrix.size // 32
    return np.array([[matrix[layout(i, lane // 4, lane % 4)] for i in range(n)] for lane in range(32)], matrix.dtype)


def gather(held, shape, layout):
    """The matrix of a fragment as `spread` gives it."""
    matrix = np.zeros(shape, held.dtype)
    for lane, elements in enumerate(held):
        for i, value in enumerate(elements):
            matrix[layout(i, lane // 4, lane % 4)] = value
    return matrix
