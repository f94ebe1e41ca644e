"""Reads of shared memory that racecheck need not look at yet.

While nothing in a block's epoch has written to shared memory, a read cannot race; it only matters to a write that comes
before the next barrier. Such reads are written down, and told to the shadow when that write comes. Tiled kernels, which
read between two barriers and write between others, never pay for it.
"""

from __future__ import annotations

from simt.engine.native import inlined, native
from simt.engine.pattern import CONTIGUOUS, access_bytes
from simt.engine.races_shared import OTHER_LANES, make_id, read_shared, sweep_read
from simt.engine.records import Ptr, Record, b1, i32, i64, u32, u64, void
from simt.engine.state import Block, Site, Warp

__all__ = ["LOG_ENTRIES", "LogEntry", "keep", "keep_read", "keep_uniform_read", "shared_write_comes"]

LOG_ENTRIES = 4096  # reads of one block and epoch; with more the shadow is told at once


class LogEntry(Record):
    """One request: its id as the shadow keeps it, its words, and the warp's own epoch at the time."""

    warp: Ptr[Warp]
    sync: u64
    first: i64
    n_words: i32
    lanes: u32
    id: u32
    per_lane: i32  # log2 of the words of one lane, -1 where all lanes read the same words


@inlined
@native
def keep(warp: Ptr[Warp], id: u32, lanes: u32, first: i64, n_words: i32, per_lane: i32) -> b1:
    """Writes a read down; false when it must be looked at now."""
    block = warp.block
    if block.shared_written == block.epoch:
        return False
    if block.read_log_epoch != block.epoch:
        block.read_log_epoch = block.epoch
        block.read_log_count = 0
    if block.read_log_count == LOG_ENTRIES:
        return False
    entry = cast(Ptr[LogEntry], block.read_log) + block.read_log_count
    block.read_log_count += 1
    entry.warp = warp
    entry.sync = warp.sync_epoch
    entry.first = first
    entry.n_words = n_words
    entry.lanes = lanes
    entry.id = id
    entry.per_lane = per_lane
    return True


@inlined
@native
def keep_read(warp: Ptr[Warp], site: Ptr[Site], mask: u32) -> b1:
    """As `keep` for a request of neighbouring words, one lane after the other."""
    n_bytes = access_bytes(site)
    if site.pattern_shape != CONTIGUOUS or n_bytes < 4 or site.aim_offset & 3 != 0:
        return False
    id = make_id(warp, site, 0, 15, 0)
    return keep(warp, id, mask, i64(site.aim_offset >> 2), 8 * n_bytes, i32(trailing_zeros(n_bytes)) - 2)


@inlined
@native
def keep_uniform_read(warp: Ptr[Warp], site: Ptr[Site], mask: u32) -> b1:
    """As `keep` for a request whose lanes all read at `site.aim_offset`."""
    n_bytes = access_bytes(site)
    if n_bytes < 4 or site.aim_offset & 3 != 0:
        return False
    id = make_id(warp, site, u32(trailing_zeros(mask)), 15, 0)
    if popcount(mask) > 1:
        id |= OTHER_LANES
    return keep(warp, id, mask, i64(site.aim_offset >> 2), n_bytes >> 2, -1)


@native
def shared_write_comes(warp: Ptr[Warp]) -> void:
    """Before the first write of an epoch the shadow hears of the reads written down."""
    block = warp.block
    if block.shared_written == block.epoch:
        return
    block.shared_written = block.epoch
    if block.read_log_epoch == block.epoch:
        tell_shadow(block)


@native
def tell_shadow(block: Ptr[Block]) -> void:
    for index in range(block.read_log_count):
        entry = cast(Ptr[LogEntry], block.read_log) + index
        now = entry.warp.sync_epoch
        entry.warp.sync_epoch = entry.sync
        if entry.per_lane >= 0:
            sweep_read(entry.warp, entry.id, entry.first, entry.n_words, u32(entry.per_lane))
        else:
            for word in range(entry.n_words):
                read_shared(entry.warp, entry.id, entry.lanes, entry.first + i64(word))
        entry.warp.sync_epoch = now
    block.read_log_count = 0
