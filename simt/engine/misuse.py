"""What can be wrong with how an mbarrier, a bulk copy or a tensor map is used: `Finding.low` of `asynccheck.misuse`."""

from __future__ import annotations

import enum

__all__ = ["Misuse"]


class Misuse(enum.IntEnum):
    NOT_INITIALISED = 0
    TOO_MANY = 1  # arrivals in one phase
    NOT_DRAINED = 2  # a bulk store at the end of its block
    INVALIDATED = 3  # used after mbarrier.inval
    AGAIN = 4  # initialised while in use
    TX_RANGE = 5  # more bytes than a phase can announce
    COUNT_RANGE = 6  # an arrival count out of range
    NOT_LANDED = 7  # a bulk load at the end of its block
    MAP_PLACE = 8  # a tensor map in local or shared memory
    NO_MAP = 9  # other bytes than a tensor map's
    MAP_RANK = 10  # another number of dimensions than the instruction has
    MAP_REDUCE = 11  # elements that no reduction takes
    MAP_START = 12  # an inner coordinate that begins a row between 16-byte units
