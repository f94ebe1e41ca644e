"""Requests to local memory in which all lanes use one offset: each lane has its own copy, a fixed distance apart."""

from __future__ import annotations

from simt.engine.moves import move_lane
from simt.engine.native import native
from simt.engine.pattern import access_bytes
from simt.engine.records import Ptr, b1, i32, i64, u8, u32, u64, void
from simt.engine.segments import local_of, local_words_of, window_offset
from simt.engine.shadow import WRITTEN, lane_mark, lane_ready, report_unset
from simt.engine.state import CheckBit, Scope, Site, Warp

__all__ = ["is_one_offset", "load_one_offset", "store_one_offset"]


@native
def is_one_offset(warp: Ptr[Warp], site: Ptr[Site], address: u64) -> b1:
    """All lanes of the pattern use one offset, aligned and in bounds."""
    n_bytes = u64(access_bytes(site))
    if site.pattern_low != 0 or site.pattern_high != i64(n_bytes):
        return False
    offset = window_offset(site, Scope.LOCAL, address)
    limit = u64(warp.block.launch.local_bytes)
    return offset & (n_bytes - 1) == 0 and offset < limit and limit - offset >= n_bytes


@native
def load_one_offset(warp: Ptr[Warp], site: Ptr[Site], mask: u32, address: u64, out: Ptr[u8]) -> void:
    """Loads from the same offset of every lane's local memory."""
    offset = window_offset(site, Scope.LOCAL, address)
    size = site.element_bytes
    n = site.n_elements
    checked = warp.block.launch.checks & CheckBit.INITCHECK
    unset: u32 = 0
    lanes = mask
    while lanes != 0:
        lane = trailing_zeros(lanes)
        move_lane(out + i32(lane) * size, local_of(warp, lane) + i64(offset), size, n, 32 * size, size)
        if checked and not lane_ready(local_words_of(warp, lane), offset, size * n):
            unset |= u32(1) << lane
        lanes &= lanes - 1
    if unset != 0:
        report_unset(warp, site, unset, Scope.LOCAL, offset)


@native
def store_one_offset(warp: Ptr[Warp], site: Ptr[Site], mask: u32, address: u64, data: Ptr[u8]) -> void:
    """Stores at the same offset of every lane's local memory."""
    offset = window_offset(site, Scope.LOCAL, address)
    size = site.element_bytes
    n = site.n_elements
    checked = warp.block.launch.checks & CheckBit.INITCHECK
    lanes = mask
    while lanes != 0:
        lane = trailing_zeros(lanes)
        move_lane(local_of(warp, lane) + i64(offset), data + i32(lane) * size, size, n, size, 32 * size)
        if checked:
            lane_mark(local_words_of(warp, lane), offset, size * n, WRITTEN)
        lanes &= lanes - 1
