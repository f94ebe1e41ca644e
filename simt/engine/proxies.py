"""Ordinary writes that the asynchronous proxy reads: which need a proxy fence between, and whether there was one.

Bulk copies out of shared memory read it by another way than loads and stores do. What an ordinary store wrote is theirs to
see only behind a `fence.proxy.async`: by the warp that wrote, any time after, or by anybody after a barrier. `Block.proxy`
keeps, per shared word, site and warp of the last ordinary store, the number of fences passed by then, and the epoch; 0 is
a word that no ordinary store wrote, or that a copy filled since.

Source: PTX ISA, Memory Consistency Model, Proxies; Asynchronous operations: a proxy fence along the causality order.
"""

from __future__ import annotations

from simt.engine.findings import PROXY_FENCE, record
from simt.engine.native import native, rare
from simt.engine.pattern import access_bytes
from simt.engine.records import Ptr, b1, i32, i64, u32, u64, void
from simt.engine.state import Block, CheckBit, Site, Warp
from simt.engine.warps import warp_of

__all__ = ["PROXIES", "clear_written", "note_written", "note_written_lane", "read_by_proxy", "start_proxies"]

# An entry: 1 in bit 63, the site in 13 bits, the block's epoch in 22, its fences in 20, the warp in 5. Numbers that do not
# fit stay at the greatest, and nothing is said of such an entry.
SITE_SHIFT = 47
EPOCH_SHIFT = 25
CLOCK_SHIFT = 5
LAST_SITE = (1 << 13) - 1
LAST_EPOCH = (1 << 22) - 1
LAST_CLOCK = (1 << 20) - 1


@native
def start_proxies(block: Ptr[Block], words: i64) -> void:
    """A block begins: nobody wrote or fenced."""
    if block.launch.checks & CheckBit.PROXIES:
        memset(block.proxy, 0, words * 8)
    block.proxy_clock = 0
    block.proxy_epoch = 0
    block.proxy_start = block.epoch
    for index in range(block.n_warps):
        warp = warp_of(block, index)
        warp.proxy_fence = 0


@native
def fence_proxy(warp: Ptr[Warp], lanes: u32) -> void:
    """`fence.proxy.async` of some lanes: their warp's writes so far count as fenced, and all before the last barrier."""
    block = warp.block
    if lanes == 0:
        return
    block.proxy_clock += 1
    warp.proxy_fence = block.proxy_clock
    block.proxy_epoch = block.epoch - block.proxy_start


@native
def entry_of(warp: Ptr[Warp], site: Ptr[Site]) -> u64:
    block = warp.block
    epoch = min(block.epoch - block.proxy_start, u64(LAST_EPOCH))
    clock = min(block.proxy_clock, u64(LAST_CLOCK))
    number = min(u64(site.index), u64(LAST_SITE))
    return (u64(1) << 63) | (number << SITE_SHIFT) | (epoch << EPOCH_SHIFT) | (clock << CLOCK_SHIFT) | u64(warp.index)


@native
def note_written_lane(warp: Ptr[Warp], site: Ptr[Site], offset: u64, n_bytes: i64) -> void:
    """An ordinary store to bytes of shared memory."""
    entry = entry_of(warp, site)
    for word in range(i64(offset >> 2), (i64(offset) + n_bytes + 3) >> 2):
        warp.block.proxy[word] = entry


@rare
@native
def note_written(warp: Ptr[Warp], site: Ptr[Site], mask: u32) -> void:
    """A store request to shared memory that `place` accepted."""
    lanes = mask
    while lanes != 0:
        lane = trailing_zeros(lanes)
        lanes &= lanes - 1
        note_written_lane(warp, site, site.aim_offset + u64(site.pattern[lane]), i64(access_bytes(site)))


@native
def clear_written(warp: Ptr[Warp], first: i64, n_words: i64) -> void:
    """A copy filled these words."""
    if warp.block.launch.checks & CheckBit.PROXIES:
        memset(warp.block.proxy + first, 0, n_words * 8)


@native
def is_fenced(block: Ptr[Block], entry: u64) -> b1:
    """Whether a fence stands behind the store that an entry tells of."""
    epoch = (entry >> EPOCH_SHIFT) & LAST_EPOCH
    clock = (entry >> CLOCK_SHIFT) & LAST_CLOCK
    if epoch == LAST_EPOCH or clock == LAST_CLOCK:
        return True
    writer = warp_of(block, i32(entry & 31))
    return writer.proxy_fence > clock or block.proxy_epoch > epoch


@native
def read_by_proxy(warp: Ptr[Warp], site: Ptr[Site], lane: u32, first: i64, n_words: i64) -> void:
    """A copy is about to read words of shared memory: an ordinary write without a fence behind it is a finding."""
    block = warp.block
    if block.launch.checks & CheckBit.PROXIES == 0:
        return
    for word in range(first, first + n_words):
        entry = block.proxy[word]
        if entry == 0:
            continue
        if not is_fenced(block, entry):
            site_of = i32((entry >> SITE_SHIFT) & LAST_SITE)
            other: i32 = site_of if site_of != LAST_SITE else -1
            record(warp, PROXY_FENCE, site.index, other, u32(1) << lane, u64(word) * 4, entry & 31, 0)
            return


PROXIES = (fence_proxy,)
