"""Sums of products as an H200's tensor cores form them, bit for bit.

The products of one instruction, and what they are added to, are shifted to the largest exponent among them (of a product:
its factors' exponents together) and cut below 25 further bits; then they are added exactly, and the sum is cut to f32.
A wgmma on 8-bit floats keeps 13 bits, in the sum too; a product that ptxas takes apart is several of them.
Source: tests/golden/h200/kernels.npz, every element of the golden kernels of products; other GPUs may differ.
"""

from __future__ import annotations

from simt.engine.native import inlined, native
from simt.engine.records import Ptr, b1, f32, f64, i32, i64, u32, u64, void

__all__ = ["NARROW", "add_products"]

NOTHING = -4096  # exponent of a zero: below that of any product
FARTHEST = 1000  # a power of two that f64 holds
NARROW = 13  # bits below which a sum is cut too
FRACTION = 52  # bits of f64


@native
def exponents_of(n: i64, values: Ptr[f32], out: Ptr[i32]) -> b1:
    """The exponent of each value; answers whether all are finite."""
    infinite: u32 = 0
    for at in range(n):
        bits = bits_of_f32(values[at])
        field = (bits >> 23) & 255
        out[at] = select(bits << 1 == 0, i32(NOTHING), max(i32(field), i32(1)) - 127)
        infinite |= u32(field == 255)
    return infinite == 0


@inlined
@native
def power(exponent: i32) -> f64:
    """A power of two."""
    within = max(min(exponent, i32(FARTHEST)), i32(-FARTHEST))
    return f64_of_bits(u64(i64(within) + 1023) << FRACTION)


@inlined
@native
def cut(value: f64, bits: i32) -> f32:
    """To f32 towards zero; of a narrow sum only so many bits behind the first."""
    kept = value
    if bits == NARROW:
        kept = f64_of_bits(bits_of_f64(value) >> (FRACTION - NARROW) << (FRACTION - NARROW))
    near = f32(kept)
    size = bits_of_f32(near) & 0x7FFFFFFF
    if size != 0x7F800000 and f64_of_bits(bits_of_f64(f64(near)) & 0x7FFFFFFFFFFFFFFF) > f64_of_bits(
        bits_of_f64(kept) & 0x7FFFFFFFFFFFFFFF
    ):
        return f32_of_bits(bits_of_f32(near) - 1)
    return near


@native
def add_plainly(m: i64, n: i64, k: i64, first: i64, steps: i64, x: Ptr[f32], y: Ptr[f32], z: Ptr[f32]) -> void:
    """In f32 one by one: for operands that hold infinities or NaN."""
    for row in range(m):
        for step in range(first, first + steps):
            factor = x[row * k + step]
            for column in range(n):
                z[row * n + column] = z[row * n + column] + factor * y[step * n + column]


@native
def add_row(
    n: i64, steps: i64, bits: i32, x: Ptr[f32], ex: Ptr[i32], y: Ptr[f32], ey: Ptr[i32], z: Ptr[f32], ez: Ptr[i32]
) -> void:
    """One row of Z += X Y."""
    top = local(i32, 256)
    scale = local(f64, 256)
    total = local(f64, 256)
    for column in range(n):
        top[column] = ez[column]
    for step in range(steps):
        exponent = ex[step]
        for column in range(n):
            top[column] = max(top[column], exponent + ey[step * n + column])
    for column in range(n):
        scale[column] = power(bits - top[column])
        total[column] = truncated(f64(z[column]) * scale[column])
    for step in range(steps):
        factor = f64(x[step])
        for column in range(n):
            total[column] = total[column] + truncated(factor * f64(y[step * n + column]) * scale[column])
    for column in range(n):
        z[column] = cut(total[column] * power(top[column] - bits), bits)


@native
def add_products(
    m: i64, n: i64, k: i64, first: i64, steps: i64, bits: i32, x: Ptr[f32], y: Ptr[f32], z: Ptr[f32]
) -> void:
    """Z (m × n) += X (m × k) Y (k × n) over `steps` of k from `first` on, in one instruction that keeps `bits`."""
    ex = local(i32, 512)
    ey = local(i32, 8192)
    ez = local(i32, 4096)
    finite = exponents_of(m * k, x, ex)
    finite = b1(finite & exponents_of(k * n, y, ey))
    finite = b1(finite & exponents_of(m * n, z, ez))
    if not finite:
        add_plainly(m, n, k, first, steps, x, y, z)
        return
    for row in range(m):
        start = row * k + first
        add_row(n, steps, bits, x + start, ex + start, y + first * n, ey + first * n, z + row * n, ez + row * n)
