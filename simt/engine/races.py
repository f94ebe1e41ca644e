"""Racecheck: feeds each accepted request to the shadow of shared or global memory, and follows fences and flags.

A *release* is a fence followed by an atomic or volatile write (or a write with release semantics), an *acquire* an atomic or
volatile read. A release seen by another warp of the block counts as a barrier of the block, since the flag it set is how
such kernels order themselves; between blocks see `races_global`.
"""

from __future__ import annotations

import ctypes

from simt.engine.clusters import forget_touches
from simt.engine.findings import GLOBAL_RMW
from simt.engine.moves import lane_to
from simt.engine.native import native
from simt.engine.pattern import access_bytes
from simt.engine.races_global import (
    GLOBAL_COLUMNS,
    READ,
    WRITE,
    fill_entries,
    is_mine,
    keep_readers,
    quiet_global,
    read_global,
    report_global,
    several_read,
    site_at,
    write_global,
)
from simt.engine.races_log import LOG_ENTRIES, LogEntry, keep_read, keep_uniform_read, shared_write_comes
from simt.engine.races_shared import (
    ATOMIC,
    OTHER_LANES,
    SHARED_COLUMNS,
    SITE_SHIFT,
    STRONG,
    make_id,
    quiet_shared,
    read_shared,
    sweep_read,
    sweep_write,
    write_shared,
)
from simt.engine.records import Ptr, b1, i32, i64, u8, u32, u64, void
from simt.engine.runs import runs_of
from simt.engine.shadow import lane_nibble
from simt.engine.state import Access, Block, CheckBit, Scope, Segment, SegmentFlag, Site, SiteFlag, Warp

__all__ = ["RACES", "RACE_WORD_BYTES", "READ_LOG_BYTES", "SHARED_RACE_WORD_BYTES", "fence", "start_races", "watch_lane",
           "watch_read", "watch_uniform", "watch_write"]  # fmt: skip

MOST_RUNS = 8  # with more, looking at each word by itself is quicker
RACES = CheckBit.RACE_SHARED | CheckBit.RACE_GLOBAL
RACE_WORD_BYTES = 4 * GLOBAL_COLUMNS  # of `Segment.races`, zero at the start of a launch
SHARED_RACE_WORD_BYTES = 4 * SHARED_COLUMNS  # of `Block.shared_races`, zero once
READ_LOG_BYTES = LOG_ENTRIES * ctypes.sizeof(LogEntry.structure())  # of `Block.read_log`


@native
def start_races(block: Ptr[Block], words: i64) -> void:
    """A block begins: it has seen no release. Its epoch is new, so the shadow needs no clearing."""
    block.acquired = 0
    block.fenced = 0
    block.released = 0


@native
def fence(warp: Ptr[Warp], wide: i32) -> void:
    """A memory fence; one beyond the block lets the others of its cluster know, by whatever follows, what was done to them."""
    block = warp.block
    block.fenced = 1
    if wide != 0 and block.launch.cluster_blocks > 1:
        for rank in range(block.launch.cluster_blocks):
            forget_touches(block.first + rank)


@native
def race_acquire(warp: Ptr[Warp]) -> void:
    block = warp.block
    block.acquired = block.launch.race_epoch
    if block.released != 0 and block.released != warp.index + 1:
        block.released = 0
        block.epoch += 1


@native
def race_release(warp: Ptr[Warp], site: Ptr[Site]) -> void:
    block = warp.block
    if block.fenced != 0 or site.flags & SiteFlag.RELEASE:
        block.launch.race_epoch += 1
        block.released = warp.index + 1


@native
def watched(warp: Ptr[Warp], site: Ptr[Site], scope: i32) -> b1:
    """The request's memory has a race shadow that is asked for."""
    checks = warp.block.launch.checks
    if scope == Scope.SHARED:
        return b1(checks & CheckBit.RACE_SHARED != 0) and not is_null(warp.block.shared_races)
    if scope == Scope.GLOBAL:
        if checks & CheckBit.RACE_GLOBAL and not is_null(site.segment.races):
            return site.segment.flags & SegmentFlag.INPUT == 0  # a write to an input is a finding of its own
    return False


@native
def strength(site: Ptr[Site]) -> u32:
    if site.access == Access.ATOMIC:
        return STRONG | ATOMIC
    if site.flags & (SiteFlag.VOLATILE | SiteFlag.RELEASE):
        return STRONG
    return 0


@native
def watch_read(warp: Ptr[Warp], site: Ptr[Site], mask: u32, scope: i32) -> void:
    """A load that `place` accepted."""
    kind = strength(site)
    if kind != 0:
        race_acquire(warp)
    if not watched(warp, site, scope):
        return
    if scope == Scope.SHARED and kind == 0 and keep_read(warp, site, mask):
        return
    if sweep_runs(warp, site, scope, kind, 0):
        return
    if site.pattern_low == 0 and site.pattern_high == i64(access_bytes(site)):
        read_lanes_at(warp, site, mask, scope, kind, site.aim_offset)
        return
    lanes = mask
    while lanes != 0:
        lane = trailing_zeros(lanes)
        read_lanes_at(warp, site, u32(1) << lane, scope, kind, site.aim_offset + u64(site.pattern[lane]))
        lanes &= lanes - 1


@native
def watch_uniform(warp: Ptr[Warp], site: Ptr[Site], mask: u32, scope: i32) -> void:
    """A load by all lanes at `site.aim_offset`."""
    kind = strength(site)
    if kind != 0:
        race_acquire(warp)
    if watched(warp, site, scope):
        if scope == Scope.SHARED and kind == 0 and keep_uniform_read(warp, site, mask):
            return
        read_lanes_at(warp, site, mask, scope, kind, site.aim_offset)


@native
def run_id(warp: Ptr[Warp], site: Ptr[Site], run: i32, kind: u32) -> u32:
    """The id of a run's first word."""
    id = make_id(warp, site, u32(site.run_lane[run]), 15, kind)
    if site.run_several[run] != 0:
        return id | OTHER_LANES
    return id


@native
def run_step(site: Ptr[Site], run: i32) -> u32:
    """log2 of the words of one lane; so great that the lane stays the same where words belong to several."""
    if site.run_several[run] != 0:
        return 31
    return u32(trailing_zeros(access_bytes(site))) - 2


@native
def sweep_reads(warp: Ptr[Warp], site: Ptr[Site], kind: u32) -> b1:
    """Notes a load from shared memory run by run; false when its words have to be looked at one by one."""
    n_runs = runs_of(site)
    first = i64(site.aim_offset >> 2)
    hits: i32 = 0
    for run in range(n_runs):
        id = run_id(warp, site, run, kind)
        hits |= sweep_read(warp, id, first + site.run_first[run], site.run_words[run], run_step(site, run))
    return n_runs != 0 and hits == 0


@native
def sweep_writes(warp: Ptr[Warp], site: Ptr[Site], kind: u32) -> b1:
    """As `sweep_reads` for a store, which does nothing when it answers false."""
    n_runs = runs_of(site)
    first = i64(site.aim_offset >> 2)
    for run in range(n_runs):
        id = run_id(warp, site, run, kind)
        if site.run_several[run] != 0:
            return False
        if not quiet_shared(warp, id, first + site.run_first[run], site.run_words[run], run_step(site, run)):
            return False
    for run in range(n_runs):
        id = run_id(warp, site, run, kind)
        sweep_write(warp, id, first + site.run_first[run], site.run_words[run], run_step(site, run))
    return n_runs != 0


@native
def sweep_runs(warp: Ptr[Warp], site: Ptr[Site], scope: i32, kind: u32, writes: i32) -> b1:
    """Settles a request whose words no other lane touched lately, else answers false."""
    n_runs = runs_of(site)
    if n_runs > MOST_RUNS:
        return False
    if scope == Scope.SHARED:
        if writes != 0:
            return sweep_writes(warp, site, kind)
        return sweep_reads(warp, site, kind)
    first = i64(site.aim_offset >> 2)
    for run in range(n_runs):
        start = first + site.run_first[run]
        id = run_id(warp, site, run, kind)
        if writes != 0 and site.run_several[run] != 0:
            return False
        if not quiet_global(warp, site.segment, id, start, site.run_words[run], run_step(site, run), writes):
            return False
    for run in range(n_runs):
        start = first + site.run_first[run]
        id = run_id(warp, site, run, kind)
        sweep_global(warp, site.segment, id, start, site.run_words[run], run_step(site, run), writes)
    return n_runs != 0


@native
def sweep_global(
    warp: Ptr[Warp], segment: Ptr[Segment], id: u32, first: i64, n: i32, per_lane: u32, writes: i32
) -> void:
    if writes != 0:
        fill_entries(warp, segment, WRITE, first, n, id, per_lane)
    else:
        keep_readers(warp, segment, id, first, n)
        fill_entries(warp, segment, READ, first, n, id, per_lane)


@native
def read_lanes_at(warp: Ptr[Warp], site: Ptr[Site], lanes: u32, scope: i32, kind: u32, offset: u64) -> void:
    """Lanes read at one offset."""
    n_bytes = access_bytes(site)
    id = make_id(warp, site, trailing_zeros(lanes), u32(lane_nibble(offset, n_bytes)), kind)
    if popcount(lanes) > 1:
        id |= OTHER_LANES
    for word in range((n_bytes + 3) >> 2):
        at = i64(offset >> 2) + i64(word)
        if scope == Scope.SHARED:
            read_shared(warp, id, lanes, at)
        else:
            read_global(warp, site.segment, id, lanes, at)


@native
def watch_write(warp: Ptr[Warp], site: Ptr[Site], mask: u32, scope: i32, host: Ptr[u8], data: Ptr[u8]) -> void:
    """A store that `place` accepted, before it changes memory."""
    kind = strength(site)
    if watched(warp, site, scope):
        if scope == Scope.SHARED:
            shared_write_comes(warp)
        if not sweep_runs(warp, site, scope, kind, 1):
            write_lanes(warp, site, mask, scope, kind, host, data)
    if kind != 0:
        race_release(warp, site)


@native
def write_lanes(
    warp: Ptr[Warp], site: Ptr[Site], mask: u32, scope: i32, kind: u32, host: Ptr[u8], data: Ptr[u8]
) -> void:
    row = local(u8, 1024)
    if scope == Scope.GLOBAL and popcount(mask) > 1 and site.pattern_low == 0:
        if site.pattern_high == i64(access_bytes(site)):
            check_one_word(warp, site, mask, kind)
    lanes = mask
    while lanes != 0:
        lane = trailing_zeros(lanes)
        lane_to(site, lane, row, data)
        write_lane_at(
            warp, site, lane, scope, kind, site.aim_offset + u64(site.pattern[lane]), host + site.pattern[lane], row
        )
        lanes &= lanes - 1


@native
def check_one_word(warp: Ptr[Warp], site: Ptr[Site], mask: u32, kind: u32) -> void:
    """Several lanes of one request store to a word that several lanes of one request read: updates are lost."""
    word = i64(site.aim_offset >> 2)
    if kind == 0 and is_mine(warp, site.segment, READ, word) and several_read(warp, site.segment, word):
        id = make_id(warp, site, trailing_zeros(mask), 15, 0)
        report_global(
            warp, GLOBAL_RMW, site_at(site.segment, READ, word), id >> SITE_SHIFT, site.segment, word, mask, READ
        )


@native
def write_lane_at(
    warp: Ptr[Warp], site: Ptr[Site], lane: u32, scope: i32, kind: u32, offset: u64, host: Ptr[u8], new: Ptr[u8]
) -> void:
    """One lane stores `new` over the bytes at `host`."""
    n_bytes = access_bytes(site)
    id = make_id(warp, site, lane, u32(lane_nibble(offset, n_bytes)), kind)
    for word in range((n_bytes + 3) >> 2):
        changes = b1(False)
        for byte in range(min(n_bytes, 4)):
            changes = b1(changes | (host[word * 4 + byte] != new[word * 4 + byte]))
        at = i64(offset >> 2) + i64(word)
        if scope == Scope.SHARED:
            write_shared(warp, id, at, changes)
        else:
            write_global(warp, site.segment, id, at, changes)


@native
def watch_lane(warp: Ptr[Warp], site: Ptr[Site], lane: u32, scope: i32) -> void:
    """One lane's atomic after `reach`; it acquires, and releases when a fence came before."""
    race_acquire(warp)
    if watched(warp, site, scope):
        if scope == Scope.SHARED:
            shared_write_comes(warp)
        n_bytes = access_bytes(site)
        id = make_id(warp, site, lane, u32(lane_nibble(site.aim_offset, n_bytes)), STRONG | ATOMIC)
        for word in range((n_bytes + 3) >> 2):
            if scope == Scope.SHARED:
                write_shared(warp, id, i64(site.aim_offset >> 2) + i64(word), True)
            else:
                write_global(warp, site.segment, id, i64(site.aim_offset >> 2) + i64(word), True)
    race_release(warp, site)
