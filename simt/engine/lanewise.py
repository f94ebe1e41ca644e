"""Requests served lane by lane: those that leave their buffer, straddle several, or reach local memory."""

from __future__ import annotations

from simt.engine.clusters import aim_peer
from simt.engine.findings import (
    ATOMIC_OOB,
    CONST_OOB,
    GLOBAL_READ,
    GLOBAL_WRITE,
    LOCAL_OOB,
    MISALIGNED,
    NULL,
    READONLY,
    SHARED_READ,
    SHARED_WRITE,
    note,
)
from simt.engine.moves import fill_lane, lane_from, lane_to
from simt.engine.native import native, rare
from simt.engine.pattern import access_bytes
from simt.engine.records import Ptr, i32, u8, u32, u64, void
from simt.engine.segments import aim, is_distant, scope_of
from simt.engine.shadow import READ, UNSET, WRITTEN, lane_mark, lane_ready, report_unset, shadow_kind
from simt.engine.state import Access, CheckBit, Scope, SegmentFlag, Site, Warp

__all__ = ["load_lanes", "reach", "store_lanes"]

NULL_BYTES = 1 << 16  # an address this small is a null pointer with an index added


@native
def reach(warp: Ptr[Warp], site: Ptr[Site], lanes: u32, address: u64) -> Ptr[u8]:
    """Host address of an access by lanes, or null after recording why it is refused; fills `site.aim_*`."""
    scope = scope_of(site, address)
    n_bytes = u64(access_bytes(site))
    host = aim(warp, site, scope, address, trailing_zeros(lanes))
    if is_null(host) and is_distant(site, scope, address):
        host = aim_peer(warp, site, lanes, address)
    if is_null(host) or site.aim_bytes - site.aim_offset < n_bytes:
        refuse(warp, site, lanes, address, outside(site, scope, address))
        return 0
    if site.aim_offset & (n_bytes - 1) != 0:
        refuse(warp, site, lanes, address, MISALIGNED)
        return 0
    if site.access != Access.LOAD and scope != Scope.SHARED and scope != Scope.LOCAL:
        if (site.segment.flags & SegmentFlag.WRITABLE) == 0:
            refuse(warp, site, lanes, address, READONLY)
            return 0
    return host


@rare
@native
def refuse(warp: Ptr[Warp], site: Ptr[Site], lanes: u32, address: u64, check: i32) -> void:
    """Records it; `low` and `high` become the range of all refused addresses."""
    if warp.block.launch.checks & CheckBit.MEMCHECK:
        found = note(warp, check, site.index, -1, lanes, address)
        if not is_null(found):
            if found.high == 0:
                found.low = address
            found.low = min(found.low, address)
            found.high = max(found.high, address + u64(access_bytes(site)))


@native
def outside(site: Ptr[Site], scope: i32, address: u64) -> i32:
    """Which check an access outside every buffer fails."""
    if scope == Scope.LOCAL:
        return LOCAL_OOB
    if scope == Scope.SHARED:
        if site.access == Access.LOAD:
            return SHARED_READ
        return SHARED_WRITE
    if address < NULL_BYTES:
        return NULL
    if scope == Scope.CONST:
        return CONST_OOB
    if site.access == Access.ATOMIC:
        return ATOMIC_OOB
    if site.access == Access.LOAD:
        return GLOBAL_READ
    return GLOBAL_WRITE


@native
def load_lanes(warp: Ptr[Warp], site: Ptr[Site], mask: u32, addresses: Ptr[u64], out: Ptr[u8]) -> void:
    """Loads lane by lane, each from its own segment; a lane that may not read gets the value of a refused load."""
    lanes = mask
    while lanes != 0:
        lane = trailing_zeros(lanes)
        host = reach(warp, site, u32(1) << lane, addresses[lane])
        if is_null(host):
            fill_lane(site, lane, out)
        else:
            lane_from(site, lane, host, out)
            lane_read(warp, site, u32(1) << lane, addresses[lane])
        lanes &= lanes - 1


@native
def lane_read(warp: Ptr[Warp], site: Ptr[Site], lanes: u32, address: u64) -> void:
    """Shadow of a read of one address by lanes, after `reach`."""
    scope = scope_of(site, address)
    kind = shadow_kind(warp, site, scope)
    if kind & UNSET and not lane_ready(site.aim_words, site.aim_offset, access_bytes(site)):
        report_unset(warp, site, lanes, scope, address)
    if kind & SegmentFlag.INPUT:
        lane_mark(site.aim_words, site.aim_offset, access_bytes(site), READ)


@native
def lane_written(warp: Ptr[Warp], site: Ptr[Site], address: u64) -> void:
    """Shadow of one lane's write after `reach`."""
    if shadow_kind(warp, site, scope_of(site, address)) != 0:
        lane_mark(site.aim_words, site.aim_offset, access_bytes(site), WRITTEN)


@native
def store_lanes(warp: Ptr[Warp], site: Ptr[Site], mask: u32, addresses: Ptr[u64], data: Ptr[u8]) -> void:
    """Stores lane by lane, each into its own segment; a lane that may not write is left out."""
    lanes = mask
    while lanes != 0:
        lane = trailing_zeros(lanes)
        host = reach(warp, site, u32(1) << lane, addresses[lane])
        if not is_null(host):
            lane_to(site, lane, host, data)
            lane_written(warp, site, addresses[lane])
        lanes &= lanes - 1
