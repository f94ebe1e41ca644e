"""Lanes of a warp exchange values: shuffles, matches, reductions, and who must be there for them."""

from __future__ import annotations

from simt.engine.findings import INACTIVE_SOURCE, SYNC_MASK, record
from simt.engine.native import native
from simt.engine.records import Ptr, i32, u32, u64, void
from simt.engine.state import CheckBit, Warp

__all__ = ["EXCHANGE", "REDUX_CODES", "SHUFFLE_MODES", "check_members", "match", "must_wait", "redux", "shuffle"]

SHUFFLE_MODES = {"up": 0, "down": 1, "bfly": 2, "idx": 3}
NO_SOURCE = 32
REDUX_CODES = {"add": 0, "min": 1, "max": 2, "and": 3, "or": 4, "xor": 5}


@native
def must_wait(warp: Ptr[Warp], site: i32, mask: u32, members: u32) -> i32:
    """Whether a live lane that `members` names has not come yet; when nobody else can run, says so and goes on."""
    missing = members & warp.alive & ~mask
    if missing == 0:
        warp.force = 0
        return 0
    if warp.force == 0:
        return 1
    warp.force = 0
    if warp.block.launch.checks & CheckBit.SYNCCHECK:
        record(warp, SYNC_MASK, site, -1, missing, 0, u64(members), 1)
    return 0


@native
def check_members(warp: Ptr[Warp], site: i32, mask: u32, members: u32) -> void:
    """A lane that runs a `.sync` instruction must be in the mask it passes."""
    outside = mask & ~members
    if outside != 0 and warp.block.launch.checks & CheckBit.SYNCCHECK:
        record(warp, SYNC_MASK, site, -1, outside, 0, u64(members), 0)


@native
def source_of(mode: i32, lane: u32, wanted: u32, clamps: u32) -> u32:
    """The lane that a lane reads in the mode up, down, bfly or idx (0 to 3), `NO_SOURCE` where that is out of its segment."""
    clamp = clamps & 31
    segment = (clamps >> 8) & 31
    highest = (lane & segment) | (clamp & ~segment)
    if mode == 0:
        return select(i32(lane - wanted) >= i32(highest), lane - wanted, u32(NO_SOURCE))
    source = (lane & segment) | (wanted & ~segment)
    if mode == 1:
        source = lane + wanted
    elif mode == 2:
        source = lane ^ wanted
    return select(i32(source) <= i32(highest), source, u32(NO_SOURCE))


@native
def shuffle(
    warp: Ptr[Warp],
    site: i32,
    mask: u32,
    mode: i32,
    values: Ptr[u32],
    lanes: Ptr[u32],
    clamps: Ptr[u32],
    masks: Ptr[u32],
    out: Ptr[u32],
) -> u32:
    """`shfl`: `out[lane]` from the source lane; answers with the lanes whose source was in range.

    Source: PTX ISA, shfl.sync, whose pseudo-code defines clamp, segment mask and the four modes.
    """
    inside: u32 = 0
    absent: u32 = 0
    first_absent: u32 = 0
    outside: u32 = 0
    for index in range(32):
        lane = u32(index)
        if (mask >> lane) & 1 == 0:
            continue
        if (masks[index] >> lane) & 1 == 0:
            outside = outside | (u32(1) << lane)
        source = source_of(mode, lane, lanes[index] & 31, clamps[index])
        if source == NO_SOURCE:
            source = lane
        else:
            inside = inside | (u32(1) << lane)
        if (mask >> source) & 1 == 0:
            out[index] = 4294967295
            if (masks[index] >> source) & 1 != 0:  # a lane that the mask leaves out is nobody's promise
                if absent == 0:
                    first_absent = source
                absent = absent | (u32(1) << lane)
        else:
            out[index] = values[source]
    if absent != 0 and warp.block.launch.checks & CheckBit.SYNCCHECK:
        record(warp, INACTIVE_SOURCE, site, -1, absent, 0, u64(first_absent), u64(warp.full))
    if outside != 0 and warp.block.launch.checks & CheckBit.SYNCCHECK:
        record(warp, SYNC_MASK, site, -1, outside, 0, u64(masks[trailing_zeros(outside)]), 0)
    return inside


@native
def match(warp: Ptr[Warp], site: i32, mask: u32, every: i32, values: Ptr[u64], masks: Ptr[u32], out: Ptr[u32]) -> u32:
    """`match.any` gives each lane the lanes with its value; `match.all` its mask when all agree, else 0."""
    truth: u32 = 0
    for index in range(32):
        if (mask >> u32(index)) & 1 == 0:
            continue
        members = masks[index] & mask
        same: u32 = 0
        for other in range(32):
            if (members >> u32(other)) & 1 != 0 and values[other] == values[index]:
                same = same | (u32(1) << u32(other))
        if every == 0:
            out[index] = same
        elif same == members:
            out[index] = members
            truth = truth | (u32(1) << u32(index))
        else:
            out[index] = 0
    check_members(warp, site, mask, masks[trailing_zeros(mask)] if mask != 0 else u32(0))
    return truth


@native
def reduced(code: i32, left: u32, right: u32) -> u32:
    kind = code & 15
    if kind == 0:
        return left + right
    if kind == 3:
        return left & right
    if kind == 4:
        return left | right
    if kind == 5:
        return left ^ right
    smaller = i32(left) < i32(right) if code >= 16 else left < right
    if kind == 1:
        return left if smaller else right
    return right if smaller else left


@native
def redux(warp: Ptr[Warp], site: i32, mask: u32, code: i32, values: Ptr[u32], masks: Ptr[u32], out: Ptr[u32]) -> void:
    """`redux.sync`: every lane gets the reduction over the running lanes its mask names."""
    for index in range(32):
        if (mask >> u32(index)) & 1 == 0:
            continue
        members = masks[index] & mask
        if members == 0:
            continue
        total = values[trailing_zeros(members)]
        rest = members & (members - 1)
        while rest != 0:
            total = reduced(code, total, values[trailing_zeros(rest)])
            rest = rest & (rest - 1)
        out[index] = total
    check_members(warp, site, mask, masks[trailing_zeros(mask)] if mask != 0 else u32(0))


EXCHANGE = (must_wait, check_members, shuffle, match, redux)
