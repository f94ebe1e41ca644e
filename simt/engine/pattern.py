"""The relative address pattern of a request: learned once, then recognised, so that counting costs next to nothing."""

from __future__ import annotations

from simt.engine.banks import EXCESS_SHIFT, count_atomic_wavefronts, count_wavefronts
from simt.engine.native import inlined, native, rare
from simt.engine.records import Ptr, b1, i32, i64, u8, u32, u64, void
from simt.engine.sectors import count_atomic_sectors, count_local_sectors, count_sectors
from simt.engine.segments import aim, scope_of, window_offset
from simt.engine.state import RANK_UNIT, Access, Scope, SegmentFlag, Site, Warp

__all__ = ["BROADCAST", "CONTIGUOUS", "access_bytes", "place"]

ALL_LANES = 0xFFFFFFFF
CONTIGUOUS = 1  # all 32 lanes, each after the one before
BROADCAST = 2  # all 32 lanes at one address
SCATTERED = 3
FAR = 4  # so far apart that sums of offsets could wrap
FAR_BYTES = 1 << 40
WAVEFRONTS_AT = 32
EXCESS_AT = 36


@inlined
@native
def access_bytes(site: Ptr[Site]) -> i32:
    """Bytes of one lane, over all elements of a vector access."""
    return site.element_bytes * site.n_elements


@inlined
@native
def same_pattern(site: Ptr[Site], mask: u32, addresses: Ptr[u64], base: u64) -> b1:
    if mask != site.pattern_mask:
        return False
    if mask == ALL_LANES:
        return lanes_match(addresses, base, addr(site.pattern))
    return active_match(addresses, base, addr(site.pattern), mask)


@rare
@native
def learn_pattern(site: Ptr[Site], mask: u32, addresses: Ptr[u64], base: u64) -> void:
    """Takes the request's relative addresses as the site's pattern; costs are counted when first asked for."""
    n_bytes = i64(access_bytes(site))
    low: i64 = 0
    high: i64 = 0
    align: i64 = 0
    contiguous = b1(mask == ALL_LANES)
    lanes = mask
    while lanes != 0:
        lane = trailing_zeros(lanes)
        relative = i64(addresses[lane] - base)
        site.pattern[lane] = relative
        low = min(low, relative)
        high = max(high, relative)
        align |= relative
        contiguous = b1(contiguous & (relative == i64(lane) * n_bytes))
        lanes &= lanes - 1
    site.pattern_mask = mask
    site.pattern_low = low
    site.pattern_high = high + n_bytes
    site.pattern_align = i32(align & 63)
    site.pattern_shape = SCATTERED
    if contiguous:
        site.pattern_shape = CONTIGUOUS
    if mask == ALL_LANES and low == 0 and high == 0:
        site.pattern_shape = BROADCAST
    if low < -FAR_BYTES or high > FAR_BYTES:
        site.pattern_shape = FAR
    site.run_count = -2
    memset(addr(site.pattern_costs), 0, 40)


@inlined
@native
def place(warp: Ptr[Warp], site: Ptr[Site], mask: u32, addresses: Ptr[u64]) -> Ptr[u8]:
    """Counts the request; host address of its first active lane, or null when lanes must be served one by one.

    Not null: every active lane lies aligned in one buffer that allows the access, at the pattern's distance.
    """
    lane = trailing_zeros(mask)
    base = addresses[lane]
    if not same_pattern(site, mask, addresses, base):
        learn_pattern(site, mask, addresses, base)
    scope = scope_of(site, base)
    warp.thread.accesses += u64(popcount(mask))
    if scope == Scope.GLOBAL:
        count_global(site, mask, base)
    elif scope == Scope.SHARED:
        offset = window_offset(site, scope, base)
        if offset >= RANK_UNIT:
            count_distant(warp, site, mask)
            return 0
        count_shared(site, mask, offset)
    elif scope == Scope.LOCAL:
        count_local(site, mask, addresses)
        return 0
    return room(warp, site, scope, base, lane)


@inlined
@native
def room(warp: Ptr[Warp], site: Ptr[Site], scope: i32, base: u64, lane: u32) -> Ptr[u8]:
    """Host address of the base, or null when a lane of the pattern is out of bounds, misaligned or not allowed."""
    host = aim(warp, site, scope, base, lane)
    if is_null(host) or site.pattern_shape == FAR:
        return 0
    offset = i64(site.aim_offset)
    if offset + site.pattern_low < 0 or offset + site.pattern_high > i64(site.aim_bytes):
        return 0
    if ((i32(offset) | site.pattern_align) & (access_bytes(site) - 1)) != 0:
        return 0
    if site.access != Access.LOAD and scope != Scope.SHARED and (site.segment.flags & SegmentFlag.WRITABLE) == 0:
        return 0
    return host


@inlined
@native
def count_global(site: Ptr[Site], mask: u32, base: u64) -> void:
    if site.pattern_costs[base & 31] == 0:
        learn_sectors(site, mask, base & 31)
    site.counts[0] += 1
    site.counts[1] += u64(site.pattern_costs[base & 31])
    site.counts[3] += u64(popcount(mask)) * u64(access_bytes(site))


@rare
@native
def learn_sectors(site: Ptr[Site], mask: u32, start: u64) -> void:
    if site.access == Access.ATOMIC:
        site.pattern_costs[start] = u8(count_atomic_sectors(mask, addr(site.pattern), start))
    else:
        site.pattern_costs[start] = u8(count_sectors(mask, addr(site.pattern), start))


@inlined
@native
def count_shared(site: Ptr[Site], mask: u32, offset: u64) -> void:
    start = offset & 3
    if site.pattern_costs[WAVEFRONTS_AT + start] == 0:
        learn_wavefronts(site, mask, start)
    site.counts[4] += 1
    site.counts[5] += u64(site.pattern_costs[WAVEFRONTS_AT + start])
    site.counts[6] += u64(site.pattern_costs[EXCESS_AT + start])
    site.counts[7] += u64(popcount(mask)) * u64(access_bytes(site))


@rare
@native
def count_distant(warp: Ptr[Warp], site: Ptr[Site], mask: u32) -> void:
    """A request to another block's shared memory, which is served lane by lane."""
    site.distant[0] += 1
    site.distant[1] += u64(popcount(mask)) * u64(access_bytes(site))
    if site.access != Access.LOAD:
        warp.thread.changes += 1


@rare
@native
def learn_wavefronts(site: Ptr[Site], mask: u32, start: u64) -> void:
    packed: u64 = 0
    if site.access == Access.ATOMIC:
        packed = count_atomic_wavefronts(mask, addr(site.pattern), start, access_bytes(site))
    else:
        packed = count_wavefronts(mask, addr(site.pattern), start, access_bytes(site))
    site.pattern_costs[WAVEFRONTS_AT + start] = u8(packed & 255)
    site.pattern_costs[EXCESS_AT + start] = u8(packed >> EXCESS_SHIFT)


@native
def local_sectors(site: Ptr[Site], mask: u32, addresses: Ptr[u64]) -> u64:
    """Where all lanes use one offset, one sector for each word and eight lanes."""
    n_bytes = access_bytes(site)
    if site.pattern_low != 0 or site.pattern_high != i64(n_bytes):
        return count_local_sectors(mask, addresses, n_bytes)
    eights = u64(mask & 0xFF != 0) + u64(mask & 0xFF00 != 0) + u64(mask & 0xFF0000 != 0) + u64(mask >> 24 != 0)
    return eights * u64((n_bytes + 3) >> 2)


@rare
@native
def count_local(site: Ptr[Site], mask: u32, addresses: Ptr[u64]) -> void:
    site.counts[8] += 1
    site.counts[9] += local_sectors(site, mask, addresses)
    site.counts[11] += u64(popcount(mask)) * u64(access_bytes(site))
