"""Kernels of one wgmma and the matrices they multiply, laid out by the canonical layouts of the PTX ISA.

"Canonical Layouts" of the ISA writes each layout as shape:stride in elements, T of them in 16 bytes, then swizzles the
address. `image` follows that text: a coordinate is taken apart along the shape, and the parts times the strides add up.
"""

import numpy as np

__all__ = ["BYTES", "SWIZZLES", "descriptor", "image", "kernel", "spread_a", "spread_d", "gather_d"]

BYTES = {"f16": 2, "bf16": 2, "tf32": 4, "s8": 1, "u8": 1, "e4m3": 1, "e5m2": 1}
SWIZZLES = {"none": 0, "128B": 1, "64B": 2, "32B": 3}
_SHIFT = {"none": 0, "32B": 1, "64B": 2, "128B": 3}  # B of Swizzle<B, 4, 3>


def _layout(swizzle, rows_fastest, t, lbo, sbo):
    """((shape, stride) of the rows, (shape, stride) of k), in elements; the last of a shape is open."""
    wide = 1 << _SHIFT[swizzle]  # 16-byte pieces in a row of the pattern
    if rows_fastest:
        if swizzle == "none":
            return ((t, None), (1, sbo)), ((8, None), (t, lbo))
        return ((t, wide, None), (1, t, lbo)), ((8, None), (wide * t, sbo))
    if swizzle == "none":
        return ((8, None), (t, sbo)), ((t, None), (1, lbo))
    return ((8, None), (wide * t, sbo)), ((t, None), (1, t))


def _offset(coordinate, shape, stride):
    total = 0
    for n, step in zip(shape, stride, strict=True):
        part = coordinate if n is None else coordinate % n
        coordinate = 0 if n is None else coordinate // n
        total += part * step
    return total


def place(row, k, swizzle, rows_fastest, size, lbo, sbo, start):
    """Byte address of an element; `lbo` and `sbo` in bytes."""
    rows, ks = _layout(swizzle, rows_fastest, 16 // size, lbo // size, sbo // size)
    address = start + size * (_offset(row, *rows) + _offset(k, *ks))
    mask = (1 << _SHIFT[swizzle]) - 1
    return address ^ (((address >> 7) & mask) << 4)


def image(space, matrix, swizzle, rows_fastest, lbo, sbo, start):
    """Writes a (rows, k) matrix into `space`, the bytes of shared memory."""
    size = matrix.itemsize
    for (row, k), value in np.ndenumerate(matrix):
        at = place(row, k, swizzle, rows_fastest, size, lbo, sbo, start)
        space[at : at + size] = np.frombuffer(value.tobytes(), np.uint8)


def descriptor(start, lbo, sbo, swizzle, base=0):
    """The 64 bits of a matrix descriptor."""
    return start >> 4 | (lbo >> 4) << 16 | (sbo >> 4) << 32 | base << 49 | SWIZZLES[swizzle] << 62


def _cells(n):
    """(thread, element, row, column) of D."""
    for thread in range(128):
        for i in range(n // 2):
            row = 16 * (thread // 32) + thread % 32 // 4 + 8 * (i // 2 % 2)
            yield thread, i, row, 8 * (i // 4) + 2 * (thread % 4) + i % 2


def spread_d(matrix):
    """(128, n / 2) elements of a (64, n) accumulator as the threads hold them."""
    held = np.zeros((128, matrix.shape[1] // 2), matrix.dtype)
    for thread, i, row, column in _cells(matrix.shape[1]):
        held[thread, i] = matrix[row, column]
    return held


def gather_d(held):
    matrix = np.zeros((64, 2 * held.shape[1]), held.dtype)
    for thread, i, row, column in _cells(matrix.shape[1]):
        matrix[row, column] = held[thread, i]
    return matrix


def spread_a(matrix):
    """(128, elements) of a (64, k) operand in registers: per 4 bytes a run of k, rows 8 apart, then the other half of k."""
    per = 4 // matrix.itemsize
    held = np.zeros((128, 4 * per), matrix.dtype)
    for thread in range(128):
        for i in range(4 * per):
            word, part = divmod(i, per)
            row = 16 * (thread // 32) + thread % 32 // 4 + 8 * (word % 2)
            held[thread, i] = matrix[row, 4 * per * (word // 2) + per * (thread % 4) + part]
    return held


HEAD = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3) {
  .reg .b32 %d<128>, %a<4>, %r<8>;
  .reg .b64 %rd<16>;
  .reg .pred %p<4>;
  .shared .align 1024 .b8 space[SPACE];
  mov.u32 %r0, %tid.x;
  ld.param.u64 %rd0, [p0];
  mad.wide.u32 %rd0, %r0, 16, %rd0;
  mov.u32 %r1, space;
  mad.lo.u32 %r1, %r0, 16, %r1;
  mad.lo.u32 %r2, %r0, 16, 0;
COPY:
  ld.global.v4.b32 {%a0, %a1, %a2, %a3}, [%rd0];
  st.shared.v4.b32 [%r1], {%a0, %a1, %a2, %a3};
  add.u64 %rd0, %rd0, 2048; add.u32 %r1, %r1, 2048; add.u32 %r2, %r2, 2048;
  setp.lt.u32 %p0, %r2, SPACE;
  @%p0 bra COPY;
"""


def kernel(opcode, n_d, a, b, more, space, middle=None):
    """PTX: fills shared memory from p0, loads A's registers from p1 and D's from p2, multiplies, stores D to p3.

    Args:
        opcode: `wgmma.mma_async…`.
        n_d: registers of D.
        a: descriptor of A, None for registers.
        b: descriptor of B.
        more: operands behind the descriptors, scale-d on.
        space: bytes of shared memory.
        middle: lines in the place of fence, product, commit and wait, with `PRODUCT` in them.
    """
    text = HEAD.replace("SPACE", str(space))
    for number, (stem, count) in enumerate((("a", 4), ("d", n_d)), 1):
        text += (
            f"  ld.param.u64 %rd{number}, [p{number}];\n  mad.wide.u32 %rd{number}, %r0, {4 * count}, %rd{number};\n"
        )
        text += "".join(f"  ld.global.b32 %{stem}{i}, [%rd{number}+{4 * i}];\n" for i in range(count))
    text += f"  mov.u64 %rd4, {a or 0}; mov.u64 %rd5, {b};\n  fence.proxy.async;\n  bar.sync 0;\n"
    d = "{" + ", ".join(f"%d{i}" for i in range(n_d)) + "}"
    left = "{%a0, %a1, %a2, %a3}" if a is None else "%rd4"
    product = f"{opcode} {d}, {left}, %rd5, {more};\n"
    steps = middle or (
        "wgmma.fence.sync.aligned;\nPRODUCTwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n"
    )
    text += steps.replace("PRODUCT", product)
    text += f"  ld.param.u64 %rd3, [p3];\n  mad.wide.u32 %rd3, %r0, {4 * n_d}, %rd3;\n"
    return text + "".join(f"  st.global.b32 [%rd3+{4 * i}], %d{i};\n" for i in range(n_d)) + "  ret;\n}\n"
