"""Which buffer an address lies in, and where a request's bytes are in host memory."""

from __future__ import annotations

from simt.engine.native import inlined, native, rare
from simt.engine.records import Ptr, b1, i32, i64, u8, u32, u64
from simt.engine.state import (
    LOCAL_WINDOW,
    PARAM_WINDOW,
    RANK_UNIT,
    SHARED_WINDOW,
    WINDOW_BYTES,
    Launch,
    Scope,
    Segment,
    Site,
    Warp,
)

__all__ = ["aim", "find_segment", "is_distant", "local_of", "scope_of", "window_offset"]


@rare
@native
def find_segment(launch: Ptr[Launch], address: u64) -> Ptr[Segment]:
    """The segment that holds the address, or null."""
    low: i32 = 0
    high: i32 = launch.n_segments
    while low < high:
        middle = (low + high) >> 1
        if (launch.segments + middle).base <= address:
            low = middle + 1
        else:
            high = middle
    if low == 0:
        return 0
    found = launch.segments + (low - 1)
    if address - found.base < found.n_bytes:
        return found
    return 0


@inlined
@native
def scope_of(site: Ptr[Site], address: u64) -> i32:
    """The site's scope, for a generic site that of the window the address lies in."""
    if site.scope != Scope.GENERIC:
        return site.scope
    if address - SHARED_WINDOW < WINDOW_BYTES:
        return Scope.SHARED
    if address - LOCAL_WINDOW < WINDOW_BYTES:
        return Scope.LOCAL
    if address - PARAM_WINDOW < WINDOW_BYTES:
        return Scope.CONST
    return Scope.GLOBAL


@inlined
@native
def window_offset(site: Ptr[Site], scope: i32, address: u64) -> u64:
    """The address inside shared or local memory."""
    if site.scope != Scope.GENERIC:
        return address
    if scope == Scope.SHARED:
        return address - SHARED_WINDOW
    return address - LOCAL_WINDOW


@inlined
@native
def is_distant(site: Ptr[Site], scope: i32, address: u64) -> b1:
    """Whether the address names a block of the cluster."""
    return scope == Scope.SHARED and window_offset(site, scope, address) >= RANK_UNIT


@inlined
@native
def local_of(warp: Ptr[Warp], lane: u32) -> Ptr[u8]:
    """Host address of a lane's local memory."""
    return warp.block.local + (i64(warp.index) * 32 + i64(lane)) * warp.block.launch.local_bytes


@inlined
@native
def local_words_of(warp: Ptr[Warp], lane: u32) -> Ptr[u8]:
    """Shadow of a lane's local memory, or null."""
    words = warp.block.local_words
    if is_null(words):
        return words
    return words + (i64(warp.index) * 32 + i64(lane)) * ((warp.block.launch.local_bytes + 3) >> 2)


@inlined
@native
def aim(warp: Ptr[Warp], site: Ptr[Site], scope: i32, address: u64, lane: u32) -> Ptr[u8]:
    """Host address of a byte, or null outside every buffer; tells where it lies in `site.aim_*`."""
    if scope == Scope.GLOBAL or scope == Scope.CONST:
        segment = site.segment
        if is_null(segment) or address - segment.base >= segment.n_bytes:
            segment = find_segment(warp.block.launch, address)
            if is_null(segment):
                return 0
            site.segment = segment
        site.aim_offset = address - segment.base
        site.aim_bytes = segment.n_bytes
        site.aim_words = segment.words
        return segment.host + i64(site.aim_offset)
    site.aim_offset = window_offset(site, scope, address)
    if scope == Scope.SHARED:
        site.aim_bytes = u64(warp.block.launch.shared_bytes)
        site.aim_words = warp.block.shared_words
        return warp.block.shared + i64(site.aim_offset) if site.aim_offset < site.aim_bytes else 0
    site.aim_bytes = u64(warp.block.launch.local_bytes)
    site.aim_words = local_words_of(warp, lane)
    return local_of(warp, lane) + i64(site.aim_offset) if site.aim_offset < site.aim_bytes else 0
