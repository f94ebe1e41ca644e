"""A fragment's layout as native code reads it: a constant beside the code that uses it."""

from __future__ import annotations

import enum

from simt.engine.records import Array, Record, i32, u8, u16

__all__ = ["MOST_ELEMENTS", "MOST_PIECES", "Element", "Layout", "Product"]

MOST_ELEMENTS = 512  # 16 elements a lane
MOST_PIECES = 512  # 16 requests


class Element(enum.IntEnum):
    F16 = 0
    BF16 = 1
    TF32 = 2
    F32 = 3
    F64 = 4
    S8 = 5
    U8 = 6
    S32 = 7
    E4M3 = 8
    E5M2 = 9


class Layout(Record):
    """`simt.isa.fragments.Fragment` and `Pieces`; tables have a row of 32 lanes for each element or request."""

    kind: i32
    n_elements: i32  # of a lane
    element_bytes: i32
    n_minor: i32  # elements of a run in memory
    n_requests: i32
    width: i32  # elements that a lane moves at once
    tiles: i32  # requests to shared memory that the hardware makes at once, 0 where it does not
    align_bytes: i32  # what the matrix's address must be a multiple of
    places: Array[u16, 512]  # number of the element in the matrix, row by row
    stored: Array[u16, 512]  # and in memory, run by run
    major: Array[u8, 512]  # where each piece starts: which run, and where in it
    minor: Array[u8, 512]


class Product(Record):
    """What one `wgmma.mma_async` multiplies, fixed where it stands."""

    n: i32  # columns of D
    a_kind: i32
    b_kind: i32
    d_kind: i32
    element_bytes: i32  # of A and B
    a_is_shared: i32
    a_transposed: i32  # rows run fastest in shared memory, not k
    b_transposed: i32
    negates_a: i32
    negates_b: i32
    saturates: i32
    sum_bits: i32  # that a sum of floats keeps, see `simt.engine.sums`
