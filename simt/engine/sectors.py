"""How many 32-byte sectors a request touches: global memory, and local memory as the hardware interleaves it."""

from __future__ import annotations

from simt.engine.native import native
from simt.engine.records import Ptr, i32, i64, u32, u64

__all__ = ["count_atomic_sectors", "count_local_sectors", "count_sectors"]

SECTOR_SHIFT = 5  # log2 of a sector's 32 bytes; tests/golden, copy_stride: 4 sectors for 32 neighbouring floats


@native
def count_sectors(mask: u32, relative: Ptr[i64], start: u64) -> u64:
    """Distinct sectors of aligned accesses at `start` + relative[lane], each of at most 32 bytes."""
    count: u64 = 0
    last: i64 = -(1 << 62)
    lanes = mask
    while lanes != 0:
        sector = (relative[trailing_zeros(lanes)] + i64(start)) >> SECTOR_SHIFT
        if sector < last:
            return _count_unsorted(mask, relative, start)
        count += u64(sector != last)
        last = sector
        lanes &= lanes - 1
    return count


@native
def _count_unsorted(mask: u32, relative: Ptr[i64], start: u64) -> u64:
    seen = local(i64, 64)  # open addressing, half full at most
    used: u64 = 0
    lanes = mask
    while lanes != 0:
        sector = (relative[trailing_zeros(lanes)] + i64(start)) >> SECTOR_SHIFT
        slot = (u64(sector) * 0x9E3779B97F4A7C15) >> 58
        while (used >> slot) & 1 != 0 and seen[slot] != sector:
            slot = (slot + 1) & 63
        seen[slot] = sector
        used |= u64(1) << slot
        lanes &= lanes - 1
    return popcount(used)


@native
def count_atomic_sectors(mask: u32, relative: Ptr[i64], start: u64) -> u64:
    """Sectors of a global atomic: lanes that hit one word go one after another, each time with the sector's other lanes.

    32 lanes on one word take 32 sectors, on neighbouring words 4. What an H200 counts (tests/golden, atomic_sectors)
    for every request of up to 4 lines of 128 bytes; for more it counts up to 4 more sectors, which ones depends on bits
    of the array's address.
    """
    turns = local(i32, 32)
    count: u64 = 0
    lanes = mask
    while lanes != 0:
        lane = trailing_zeros(lanes)
        here = relative[lane] + i64(start)
        before = mask & ((u32(1) << lane) - 1)
        turn: i32 = 0
        earlier = before
        while earlier != 0:
            turn += i32(relative[trailing_zeros(earlier)] + i64(start) == here)
            earlier &= earlier - 1
        turns[lane] = turn
        new_sector: u64 = 1
        earlier = before
        while earlier != 0:
            other = trailing_zeros(earlier)
            there = relative[other] + i64(start)
            if turns[other] == turn and there >> SECTOR_SHIFT == here >> SECTOR_SHIFT:
                new_sector = 0
                break
            earlier &= earlier - 1
        count += new_sector
        lanes &= lanes - 1
    return count


@native
def count_local_sectors(mask: u32, offsets: Ptr[u64], n_bytes: i32) -> u64:
    """Sectors of local memory: word w of lane l lies at word 32 w + l, so 8 lanes of one word share a sector."""
    places = local(i64, 32)
    count: u64 = 0
    for word in range((n_bytes + 3) >> 2):
        lanes = mask
        while lanes != 0:
            lane = trailing_zeros(lanes)
            places[lane] = i64((((offsets[lane] >> 2) + u64(word)) * 32 + u64(lane)) * 4)
            lanes &= lanes - 1
        count += count_sectors(mask, places, 0)
    return count
