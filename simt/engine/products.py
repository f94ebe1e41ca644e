"""Products of matrices as tensor cores form them: D = A B + C from fragments to a fragment.

Sums of 16-bit, tf32 and 8-bit floats are those of `simt.engine.sums`, rounded once where the accumulator is f16; doubles go
by fused steps in order of k, integers without rounding.
"""

from __future__ import annotations

from simt.engine.layouts import Element, Layout
from simt.engine.native import inlined, native
from simt.engine.records import Ptr, f32, f64, i8, i32, i64, u8, u16, u32, void
from simt.engine.sums import add_products

__all__ = ["multiply"]

MOST = 512  # elements of the largest operand, 32 × 16; of an accumulator 256
TF32_BITS = 0xFFFFE000  # tensor cores do not look at the 13 low bits of a tf32


@native
def f32_of_e4m3(code: u32) -> f32:
    """Sign, 4 bits of exponent with bias 7, 3 of mantissa; no infinity, all bits set is NaN."""
    sign = (code & 0x80) << 24
    if code & 0x7F == 0x7F:
        return f32_of_bits(u32(0x7FC00000))
    if code & 0x78 == 0:
        return f32_of_bits(sign | bits_of_f32(f32(code & 7) * 0.001953125))
    return f32_of_bits(sign | (((code & 0x7F) << 20) + (120 << 23)))


@inlined
@native
def float_at(kind: i32, at: Ptr[u8]) -> f32:
    """An element of up to 32 bits as f32."""
    if kind == Element.F16:
        return f32_of_f16(cast(Ptr[u16], at)[0])
    if kind == Element.BF16:
        return f32_of_bits(u32(cast(Ptr[u16], at)[0]) << 16)
    if kind == Element.TF32:
        return f32_of_bits(cast(Ptr[u32], at)[0] & TF32_BITS)
    if kind == Element.E5M2:
        return f32_of_f16(u16(at[0]) << 8)
    if kind == Element.E4M3:
        return f32_of_e4m3(u32(at[0]))
    return cast(Ptr[f32], at)[0]


@inlined
@native
def place_in(layout: Ptr[Layout], element: i32, lane: i32) -> i32:
    """Byte of a fragment's registers."""
    if layout.element_bytes == 1:
        return (element // 4 * 32 + lane) * 4 + element % 4
    if layout.element_bytes == 2:
        return (element // 2 * 32 + lane) * 4 + element % 2 * 2
    return (element * 32 + lane) * layout.element_bytes


@native
def floats_of(layout: Ptr[Layout], registers: Ptr[u8], out: Ptr[f32]) -> void:
    """The matrix of a fragment, row by row."""
    for element in range(layout.n_elements):
        for lane in range(32):
            at = registers + place_in(layout, i32(element), i32(lane))
            out[layout.places[i32(element) * 32 + i32(lane)]] = float_at(layout.kind, at)


@native
def multiply_floats(
    m: i32,
    n: i32,
    k: i32,
    la: Ptr[Layout],
    lb: Ptr[Layout],
    lc: Ptr[Layout],
    ld: Ptr[Layout],
    a: Ptr[u8],
    b: Ptr[u8],
    c: Ptr[u8],
    d: Ptr[u8],
    steps: i32,
    bits: i32,
) -> void:
    x = local(f32, 512)
    y = local(f32, 512)
    z = local(f32, 256)
    floats_of(la, a, x)
    floats_of(lb, b, y)
    floats_of(lc, c, z)
    for first in range(0, i64(k), i64(steps)):
        add_products(i64(m), i64(n), i64(k), first, i64(steps), bits, x, y, z)
    for element in range(ld.n_elements):
        for lane in range(32):
            value = z[ld.places[i32(element) * 32 + i32(lane)]]
            at = d + place_in(ld, i32(element), i32(lane))
            if ld.kind == Element.F16:
                cast(Ptr[u16], at)[0] = f16_of_f32(value)
            else:
                cast(Ptr[f32], at)[0] = value


@native
def multiply_doubles(
    m: i32,
    n: i32,
    k: i32,
    la: Ptr[Layout],
    lb: Ptr[Layout],
    lc: Ptr[Layout],
    ld: Ptr[Layout],
    a: Ptr[f64],
    b: Ptr[f64],
    c: Ptr[f64],
    d: Ptr[f64],
) -> void:
    x = local(f64, 512)
    y = local(f64, 512)
    z = local(f64, 256)
    for at in range(la.n_elements * 32):
        x[la.places[at]] = a[at]
    for at in range(lb.n_elements * 32):
        y[lb.places[at]] = b[at]
    for at in range(lc.n_elements * 32):
        z[lc.places[at]] = c[at]
    for i in range(m):
        for step in range(k):
            for j in range(n):
                z[i * n + j] = fused(x[i * k + step], y[step * n + j], z[i * n + j])
    for at in range(ld.n_elements * 32):
        d[at] = z[ld.places[at]]


@native
def integers_of(layout: Ptr[Layout], registers: Ptr[u8], out: Ptr[i32]) -> void:
    """The matrix of a fragment of bytes, row by row."""
    for element in range(layout.n_elements):
        for lane in range(32):
            place = layout.places[i32(element) * 32 + i32(lane)]
            byte = registers[(element // 4 * 32 + lane) * 4 + element % 4]
            if layout.kind == Element.S8:
                out[place] = i32(i8(byte))
            else:
                out[place] = i32(byte)


@native
def multiply_integers(
    m: i32,
    n: i32,
    k: i32,
    la: Ptr[Layout],
    lb: Ptr[Layout],
    lc: Ptr[Layout],
    ld: Ptr[Layout],
    a: Ptr[u8],
    b: Ptr[u8],
    c: Ptr[i32],
    d: Ptr[i32],
    saturate: i32,
) -> void:
    """Sums in 64 bits; at the end they wrap to 32 or are clamped."""
    x = local(i32, 512)
    y = local(i32, 512)
    z = local(i64, 256)
    integers_of(la, a, x)
    integers_of(lb, b, y)
    for at in range(lc.n_elements * 32):
        z[lc.places[at]] = i64(c[at])
    for i in range(m):
        for step in range(k):
            factor = x[i * k + step]
            for j in range(n):
                z[i * n + j] = z[i * n + j] + i64(factor * y[step * n + j])
    for at in range(ld.n_elements * 32):
        total = z[ld.places[at]]
        if saturate != 0:
            total = max(min(total, 0x7FFFFFFF), -0x80000000)
        d[at] = i32(total)


@native
def multiply(
    m: i32,
    n: i32,
    k: i32,
    la: Ptr[Layout],
    lb: Ptr[Layout],
    lc: Ptr[Layout],
    ld: Ptr[Layout],
    a: Ptr[u8],
    b: Ptr[u8],
    c: Ptr[u8],
    d: Ptr[u8],
    saturate: i32,
    steps: i32,
    bits: i32,
) -> void:
    """D = A B + C for A of m × k and B of k × n, by the kind of A's elements; floats `steps` of k at once, see `sums`."""
    if la.kind == Element.F64:
        multiply_doubles(
            m, n, k, la, lb, lc, ld, cast(Ptr[f64], a), cast(Ptr[f64], b), cast(Ptr[f64], c), cast(Ptr[f64], d)
        )
    elif la.kind == Element.S8 or la.kind == Element.U8:
        multiply_integers(m, n, k, la, lb, lc, ld, a, b, cast(Ptr[i32], c), cast(Ptr[i32], d), saturate)
    else:
        multiply_floats(m, n, k, la, lb, lc, ld, a, b, c, d, steps, bits)
