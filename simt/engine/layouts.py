"""A fragment's layout as native code reads it: a constant beside the code that uses it."""

from __future__ import annotations

import enum

from simt.engine.records import Array, Record, i32, u8, u16

__all__ = ["MOST_ELEMENTS", "MOST_PIECES", "Element", "Layout"]

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
