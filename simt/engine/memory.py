"""Loads and stores of a warp: what generated code calls, one request each.

A request is counted, checked and carried out for all its active lanes at once. `addresses` holds 32 virtual addresses, or
offsets for shared and local sites. Values are lane-wise arrays: element e of lane l lies at (32 e + l) * element_bytes;
an inactive lane's place is left alone. What leaves its buffer never touches host memory: it reads NaN bytes, a write is
dropped, and a finding says so.
"""

from __future__ import annotations

from simt.engine.flying import touch_at, touch_flights
from simt.engine.lanewise import lane_read, load_lanes, reach, store_lanes
from simt.engine.local import is_one_offset, load_one_offset, store_one_offset
from simt.engine.moves import gather, scatter
from simt.engine.native import native
from simt.engine.pattern import CONTIGUOUS, access_bytes, place
from simt.engine.proxies import note_written
from simt.engine.races import RACES, watch_read, watch_uniform, watch_write
from simt.engine.records import Ptr, i32, u8, u32, u64, void
from simt.engine.segments import scope_of
from simt.engine.shadow import shadow_read, shadow_write
from simt.engine.state import CheckBit, Scope, Site, SiteFlag, Warp
from simt.engine.tracing import note_writers, trace_one, trace_request
from simt.engine.wgmma_rules import overwrite_reading

__all__ = ["load", "load_uniform", "store"]

SHADOWED = CheckBit.INITCHECK | CheckBit.COVERAGE
WATCHED = SHADOWED | RACES | CheckBit.FLIGHTS


@native
def load(warp: Ptr[Warp], site: Ptr[Site], mask: u32, addresses: Ptr[u64], out: Ptr[u8]) -> void:
    """Every active lane reads at its address."""
    if mask == 0:
        return
    if not is_null(warp.block.launch.trace):
        trace_request(warp, site, mask, addresses)
    host = place(warp, site, mask, addresses)
    if is_null(host):
        load_apart(warp, site, mask, addresses, out)
        return
    if site.pattern_shape == CONTIGUOUS and access_bytes(site) == 4 and site.n_elements == 1:
        memcpy(out, host, 128)
    else:
        gather(site, mask, host, out)
    checks = warp.block.launch.checks
    if checks & WATCHED:
        first = addresses[trailing_zeros(mask)]
        scope = scope_of(site, first)
        if checks & CheckBit.FLIGHTS:
            look_at_flag(warp, site)
            if scope == Scope.SHARED and warp.block.n_flying != 0 and touch_flights(warp, site, mask) != 0:
                return
        if checks & SHADOWED:
            shadow_read(warp, site, mask, scope, first)
        if checks & RACES:
            watch_read(warp, site, mask, scope)


@native
def look_at_flag(warp: Ptr[Warp], site: Ptr[Site]) -> void:
    """Whoever reads a flag may know of every bulk load that landed so far."""
    if site.flags & SiteFlag.VOLATILE:
        warp.seen = warp.block.landings


@native
def load_apart(warp: Ptr[Warp], site: Ptr[Site], mask: u32, addresses: Ptr[u64], out: Ptr[u8]) -> void:
    """A load that is not served as one: of local memory, or lane by lane."""
    address = addresses[trailing_zeros(mask)]
    if scope_of(site, address) == Scope.LOCAL and is_one_offset(warp, site, address):
        load_one_offset(warp, site, mask, address, out)
    else:
        load_lanes(warp, site, mask, addresses, out)


@native
def store(warp: Ptr[Warp], site: Ptr[Site], mask: u32, addresses: Ptr[u64], data: Ptr[u8]) -> void:
    """Every active lane writes at its address."""
    if mask == 0:
        return
    if not is_null(warp.block.launch.trace):
        trace_request(warp, site, mask, addresses)
    if warp.block.launch.checks & CheckBit.WRITERS:
        note_writers(warp, site, mask, addresses)
    host = place(warp, site, mask, addresses)
    if is_null(host):
        store_apart(warp, site, mask, addresses, data)
        return
    checks = warp.block.launch.checks
    if checks & WATCHED:
        scope = scope_of(site, addresses[trailing_zeros(mask)])
        if checks & CheckBit.FLIGHTS and scope == Scope.SHARED:
            if warp.block.n_flying != 0:
                touch_flights(warp, site, mask)
            if not is_null(warp.block.readings):
                overwrite_lanes(warp, site, mask)
        if checks & CheckBit.PROXIES and scope == Scope.SHARED:
            note_written(warp, site, mask)
        if checks & SHADOWED:
            shadow_write(warp, site, mask, scope)
        if checks & RACES:
            watch_write(warp, site, mask, scope, host, data)
    if site.pattern_shape == CONTIGUOUS and access_bytes(site) == 4 and site.n_elements == 1:
        memcpy(host, data, 128)
    else:
        scatter(site, mask, host, data)


@native
def overwrite_lanes(warp: Ptr[Warp], site: Ptr[Site], mask: u32) -> void:
    """A store to shared memory, which `place` accepted, where products of warpgroups may read."""
    lanes = mask
    while lanes != 0:
        lane = trailing_zeros(lanes)
        lanes &= lanes - 1
        offset = site.aim_offset + u64(site.pattern[lane])
        overwrite_reading(warp, site, u32(1) << lane, offset, u64(access_bytes(site)))


@native
def store_apart(warp: Ptr[Warp], site: Ptr[Site], mask: u32, addresses: Ptr[u64], data: Ptr[u8]) -> void:
    """As `load_apart` for a store."""
    address = addresses[trailing_zeros(mask)]
    if scope_of(site, address) == Scope.LOCAL and is_one_offset(warp, site, address):
        store_one_offset(warp, site, mask, address, data)
    else:
        store_lanes(warp, site, mask, addresses, data)


@native
def load_uniform(warp: Ptr[Warp], site: Ptr[Site], mask: u32, address: u64, out: Ptr[u8]) -> void:
    """Every active lane reads at one address; `out` gets one value per element. Not for local memory."""
    if mask == 0:
        return
    if not is_null(warp.block.launch.trace):
        trace_one(warp, site, mask, address)
    scope = scope_of(site, address)
    n_bytes = access_bytes(site)
    warp.thread.accesses += u64(popcount(mask))
    count_uniform(site, mask, scope)
    host = reach(warp, site, mask, address)
    if is_null(host):
        memset(out, 255, n_bytes)
        return
    memcpy(out, host, n_bytes)
    checks = warp.block.launch.checks
    if checks & CheckBit.FLIGHTS:
        look_at_flag(warp, site)
        if scope == Scope.SHARED and warp.block.n_flying != 0 and touch_at(warp, site, mask, site.aim_offset) != 0:
            return
    if checks & SHADOWED:
        lane_read(warp, site, mask, address)
    if checks & RACES:
        watch_uniform(warp, site, mask, scope)


@native
def count_uniform(site: Ptr[Site], mask: u32, scope: i32) -> void:
    """One sector; one wavefront, of a 128-bit request one for each half of the warp that takes part."""
    if scope == Scope.SHARED:
        halves = u64(mask & 0xFFFF != 0) + u64(mask >> 16 != 0)
        site.counts[4] += 1
        site.counts[5] += select(access_bytes(site) == 16, halves, 1)
        site.counts[7] += u64(popcount(mask)) * u64(access_bytes(site))
    elif scope == Scope.GLOBAL:
        site.counts[0] += 1
        site.counts[1] += 1
        site.counts[3] += u64(popcount(mask)) * u64(access_bytes(site))
