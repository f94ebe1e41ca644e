"""wgmma: products of a warpgroup, with operands in shared memory that a descriptor places.

Each warp of the four forms its own 16 rows of D when it issues the instruction, so the warps need not meet. The result is
in its registers at once; that it may be used only after `wgmma.wait_group` is kept beside them, see
`simt.engine.wgmma_rules`.

A descriptor gives a matrix of 8-row by 16-byte *core matrices* (PTX ISA, "Matrix Descriptor Format"): bits 0-13 the
start, 16-29 the leading and 32-45 the stride byte offset, all in 16 bytes, 49-51 the base offset, 62-63 the swizzle.
"""

from __future__ import annotations

from simt.engine.layouts import Element, Product
from simt.engine.native import inlined, native
from simt.engine.products import float_at
from simt.engine.records import Ptr, f32, i8, i32, i64, u8, u16, u32, u64, void
from simt.engine.state import Site, Warp
from simt.engine.sums import add_products
from simt.engine.wgmma_rules import begin_product, reads_shared

__all__ = ["PRODUCTS"]

K_BYTES = 32  # of a row of A or a column of B, in every shape
ROWS = 16  # of A and D that one warp has
CHUNK = 16  # bytes that stay together in every layout


@inlined
@native
def field(matrix: u64, first: i32) -> u64:
    """A descriptor's offset in bytes."""
    return ((matrix >> u64(first)) & 0x3FFF) << 4


@inlined
@native
def row_bytes(matrix: u64) -> u64:
    """Bytes of a row of the pattern that the swizzle repeats: 128, 64, 32, and 16 without one."""
    mode = matrix >> 62
    if mode == 0:
        return CHUNK
    return u64(256) >> mode


@inlined
@native
def swizzled(matrix: u64, address: u64) -> u64:
    """Bits 4-6 of an address are xored with bits 7-9, as many as the pattern is wide; the base offset turns the rows."""
    turns = row_bytes(matrix) // CHUNK - 1
    return address ^ ((((address >> 7) - (matrix >> 49)) & turns) << 4)


@native
def chunk_of_k(matrix: u64, row: u64, chunk: u64) -> u64:
    """Shared offset of 16 bytes along k, where k runs fastest: `row` of A or column of B, half `chunk` of its 32 bytes."""
    width = row_bytes(matrix)
    step: u64 = CHUNK
    if width == CHUNK:
        step = field(matrix, 16)
    return swizzled(matrix, field(matrix, 0) + (row & 7) * width + (row >> 3) * field(matrix, 32) + chunk * step)


@native
def chunk_of_rows(matrix: u64, group: u64, k: u64) -> u64:
    """Shared offset of 8 neighbouring 16-bit elements of one k, where rows run fastest."""
    width = row_bytes(matrix)
    leading = field(matrix, 16)
    stride = field(matrix, 32)
    start = field(matrix, 0)
    if width == CHUNK:
        return start + group * stride + (k & 7) * CHUNK + (k >> 3) * leading
    wide = width // CHUNK
    return swizzled(
        matrix, start + group % wide * CHUNK + group // wide * leading + (k & 7) * width + (k >> 3) * stride
    )


@native
def read_rows(warp: Ptr[Warp], site: Ptr[Site], matrix: u64, first: i32, n: i32, out: Ptr[u8]) -> void:
    """`n` rows whose k runs fastest in shared memory, 32 bytes each."""
    for row in range(n):
        for chunk in range(2):
            at = chunk_of_k(matrix, u64(first + row), u64(chunk))
            target = out + (i64(row) * K_BYTES + chunk * CHUNK)
            if reads_shared(warp, site, at):
                memcpy(target, warp.block.shared + i64(at), CHUNK)
            else:
                memset(target, 255, CHUNK)


@native
def read_columns(warp: Ptr[Warp], site: Ptr[Site], matrix: u64, first: i32, n: i32, out: Ptr[u8]) -> void:
    """As `read_rows` for 16-bit elements whose rows run fastest."""
    eight = local(u16, 8)
    rows = cast(Ptr[u16], out)
    for group in range(n // 8):
        for k in range(K_BYTES // 2):
            at = chunk_of_rows(matrix, u64(first // 8 + group), u64(k))
            if reads_shared(warp, site, at):
                memcpy(cast(Ptr[u8], eight), warp.block.shared + i64(at), CHUNK)
            else:
                memset(cast(Ptr[u8], eight), 255, CHUNK)
            for j in range(8):
                rows[i64(group * 8) * 16 + j * 16 + k] = eight[j]


@native
def read_matrix(
    warp: Ptr[Warp], site: Ptr[Site], matrix: u64, transposed: i32, first: i32, n: i32, out: Ptr[u8]
) -> void:
    """`n` rows of A or columns of B from `first` on, 32 bytes of k each."""
    if transposed != 0:
        read_columns(warp, site, matrix, first, n, out)
    else:
        read_rows(warp, site, matrix, first, n, out)


@native
def read_registers(registers: Ptr[u8], out: Ptr[u8]) -> void:
    """A warp's 16 rows of A from its registers: tiles of 8 rows and 16 bytes, a word of each row in each of four lanes."""
    for register in range(4):
        for lane in range(32):
            row = lane // 4 + register % 2 * 8
            place = row * K_BYTES + register // 2 * CHUNK + lane % 4 * 4
            memcpy(out + place, registers + (register * 32 + lane) * 4, 4)


@inlined
@native
def row_of(element: i64, lane: i64) -> i64:
    """Row of D, among the warp's 16, that a lane's element lies in."""
    return lane // 4 + element // 2 % 2 * 8


@inlined
@native
def column_of(element: i64, lane: i64) -> i64:
    return element // 4 * 8 + lane % 4 * 2 + element % 2


@inlined
@native
def place_of(kind: i32, element: i64, lane: i64) -> i64:
    """Byte of D's registers; halves lie in pairs."""
    if kind == Element.F16:
        return (element // 2 * 32 + lane) * 4 + element % 2 * 2
    return (element * 32 + lane) * 4


@native
def multiply_wide_floats(what: Ptr[Product], a: Ptr[u8], b: Ptr[u8], d: Ptr[u8], adds: i32) -> void:
    """D = A B + D; D of f16 is rounded at the end."""
    x = local(f32, 512)
    y = local(f32, 8192)
    z = local(f32, 4096)
    n = i64(what.n)
    size = i64(what.element_bytes)
    n_k = K_BYTES // size
    for row in range(ROWS):
        for k in range(n_k):
            value = float_at(what.a_kind, a + (row * K_BYTES + k * size))
            if what.negates_a != 0:
                value = -value
            x[row * n_k + k] = value
    for column in range(n):
        for k in range(n_k):
            value = float_at(what.b_kind, b + (column * K_BYTES + k * size))
            if what.negates_b != 0:
                value = -value
            y[k * n + column] = value
    for element in range(n // 2):
        for lane in range(32):
            start: f32 = 0.0
            if adds != 0:
                start = float_at(what.d_kind, d + place_of(what.d_kind, element, lane))
            z[row_of(element, lane) * n + column_of(element, lane)] = start
    add_products(ROWS, n, n_k, 0, n_k, what.sum_bits, x, y, z)
    for element in range(n // 2):
        for lane in range(32):
            total = z[row_of(element, lane) * n + column_of(element, lane)]
            at = d + place_of(what.d_kind, element, lane)
            if what.d_kind == Element.F16:
                cast(Ptr[u16], at)[0] = f16_of_f32(total)
            else:
                cast(Ptr[f32], at)[0] = total


@inlined
@native
def integer_at(kind: i32, byte: u8) -> i32:
    if kind == Element.S8:
        return i32(i8(byte))
    return i32(byte)


@native
def multiply_wide_integers(what: Ptr[Product], a: Ptr[u8], b: Ptr[u8], d: Ptr[i32], adds: i32) -> void:
    """The sum wraps to 32 bits or, with `.satfinite`, is clamped once at the end."""
    y = local(i32, 8192)
    z = local(i32, 4096)
    n = i64(what.n)
    for column in range(n):
        for k in range(K_BYTES):
            y[k * n + column] = integer_at(what.b_kind, b[column * K_BYTES + k])
    for at in range(ROWS * n):
        z[at] = 0
    for row in range(ROWS):
        for k in range(K_BYTES):
            factor = integer_at(what.a_kind, a[row * K_BYTES + k])
            for column in range(n):
                z[row * n + column] = z[row * n + column] + factor * y[k * n + column]
    for element in range(n // 2):
        for lane in range(32):
            at = element * 32 + lane
            total = i64(z[row_of(element, lane) * n + column_of(element, lane)])
            if adds != 0:
                total += i64(d[at])
            if what.saturates != 0:
                total = max(min(total, 0x7FFFFFFF), -0x80000000)
            d[at] = i32(total)


@native
def wgmma(
    warp: Ptr[Warp],
    site: Ptr[Site],
    mask: u32,
    what: Ptr[Product],
    registers: Ptr[u8],
    a_matrix: u64,
    b_matrix: u64,
    d: Ptr[u8],
    adds: i32,
) -> void:
    """One warp's part of `wgmma.mma_async`: its 16 rows of the 64."""
    if mask == 0:
        return
    begin_product(warp, site, mask)
    a = local(u8, 512)
    b = local(u8, 8192)
    if what.a_is_shared != 0:
        read_matrix(warp, site, a_matrix, what.a_transposed, (warp.index & 3) * ROWS, ROWS, a)
    else:
        read_registers(registers, a)
    read_matrix(warp, site, b_matrix, what.b_transposed, 0, what.n, b)
    if what.d_kind == Element.S32:
        multiply_wide_integers(what, a, b, cast(Ptr[i32], d), adds)
    else:
        multiply_wide_floats(what, a, b, d, adds)


PRODUCTS = (wgmma,)
