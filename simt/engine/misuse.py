"""What can be wrong with how an mbarrier, a bulk copy or a tensor map is used: `Finding.low` of `asynccheck.misuse`."""

from __future__ import annotations

import enum

from simt.engine.findings import MBARRIER_MISUSE, record
from simt.engine.native import native, rare
from simt.engine.records import Ptr, i32, u32, u64, void
from simt.engine.state import CheckBit, Site, Warp

__all__ = ["Misuse", "report_misuse"]


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
    MAP_BEFORE = 13  # a tile stored from before its tensor's first element
    NO_CLUSTER = 14  # a bulk copy inside the cluster of a launch without clusters


@rare
@native
def report_misuse(warp: Ptr[Warp], site: Ptr[Site], other: i32, lane: u32, address: u64, why: i32, value: u64) -> void:
    """One lane's misuse; `other` is the site of a second place or -1, `value` what its message needs."""
    if warp.block.launch.checks & CheckBit.SYNCCHECK:
        record(warp, MBARRIER_MISUSE, site.index, other, u32(1) << lane, address, u64(why), value)
