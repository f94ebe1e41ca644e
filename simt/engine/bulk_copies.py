"""cp.async.bulk: one thread's copy of many bytes, landing when somebody looks at its mbarrier or waits for its group.

The source is read when the copy lands, so that whoever changes it too early spoils the copy, as on hardware.
"""

from __future__ import annotations

import enum

from simt.engine.findings import INIT_SHARED, MBARRIER_MISUSE, MISALIGNED, READONLY, record
from simt.engine.flying import BULK, report_flight
from simt.engine.lanewise import outside, refuse
from simt.engine.mbarriers import Misuse, complete_bytes, mbarrier_at, misused
from simt.engine.native import native
from simt.engine.races import watched
from simt.engine.races_log import shared_write_comes
from simt.engine.races_shared import make_id, write_shared
from simt.engine.records import Ptr, i32, i64, u8, u32, u64, void
from simt.engine.segments import aim
from simt.engine.shadow import READ, WRITTEN
from simt.engine.state import Block, Bulk, CheckBit, Scope, SegmentFlag, Site, Warp

__all__ = ["BULKS", "BULK_COPIES", "land_bulk_copies", "land_everything"]

BULKS = 1024  # in flight in one block; with more the oldest land early
UNIT = 16  # addresses and sizes are multiples of it (PTX ISA, cp.async.bulk)


class BulkState(enum.IntEnum):
    FREE = 0
    LOADING = 1  # global to shared, with an mbarrier
    STORING = 2  # shared to global, in a group


@native
def warp_at(block: Ptr[Block], index: i32) -> Ptr[Warp]:
    return cast(Ptr[Warp], block.warps) + index


@native
def new_bulk(warp: Ptr[Warp], lane: u32, site: Ptr[Site], state: i32) -> Ptr[Bulk]:
    """A free place at the ring's end."""
    block = warp.block
    if block.next_bulk - block.first_bulk == BULKS:
        oldest: Ptr[Bulk] = block.bulks + (block.first_bulk & (BULKS - 1))
        land_bulk(block, oldest)
        block.first_bulk += 1
    bulk: Ptr[Bulk] = block.bulks + (block.next_bulk & (BULKS - 1))
    bulk.slot = block.next_bulk & (BULKS - 1)
    block.next_bulk += 1
    bulk.state = state
    bulk.warp = warp.index
    bulk.lane = lane
    bulk.site = site.index
    bulk.group = warp.bulk_commits[lane]
    return bulk


@native
def end_of(warp: Ptr[Warp], site: Ptr[Site], scope: i32, lane: u32, address: u64, n_bytes: u64) -> Ptr[u8]:
    """Host address of one end of a copy, or null after saying what is wrong with it; fills `site.aim_*`."""
    host = aim(warp, site, scope, address, lane)
    if is_null(host) or site.aim_bytes - site.aim_offset < n_bytes:
        refuse(warp, site, u32(1) << lane, address, outside(site, scope, address))
        return 0
    if (address | n_bytes) & (UNIT - 1):
        wrong = address
        if address & (UNIT - 1) == 0:
            wrong = address + n_bytes
        refuse(warp, site, u32(1) << lane, wrong, MISALIGNED)
        return 0
    return host


@native
def bulk_load(
    warp: Ptr[Warp], read: Ptr[Site], write: Ptr[Site], bar: Ptr[Site], mask: u32, sources: Ptr[u64], targets: Ptr[u64],
    sizes: Ptr[u32], barriers: Ptr[u64]
) -> void:
    """Every active lane copies from global to shared memory; its mbarrier hears of the bytes."""
    lanes = mask
    while lanes != 0:
        lane = trailing_zeros(lanes)
        lanes &= lanes - 1
        n_bytes = u64(sizes[lane])
        barrier = mbarrier_at(warp, bar, lane, barriers[lane])
        if is_null(barrier):
            continue
        if barrier.live == 0:
            misused(warp, bar, barrier, lane, Misuse.NOT_INITIALISED)
        host = end_of(warp, read, Scope.GLOBAL, lane, sources[lane], n_bytes)
        target = end_of(warp, write, Scope.SHARED, lane, targets[lane], n_bytes)
        if is_null(host) or is_null(target):
            complete_bytes(warp, barrier, i64(n_bytes))
            continue
        write.counts[11] += n_bytes
        bulk = new_bulk(warp, lane, write, BulkState.LOADING)
        bulk.barrier = u32(bar.aim_offset)
        keep_ends(bulk, read, host, write.aim_offset, i64(n_bytes))
        mark_flights(warp, write, bulk)


@native
def bulk_store(
    warp: Ptr[Warp], read: Ptr[Site], write: Ptr[Site], mask: u32, sources: Ptr[u64], targets: Ptr[u64], sizes: Ptr[u32]
) -> void:
    """Every active lane copies from shared to global memory, in its open group."""
    lanes = mask
    while lanes != 0:
        lane = trailing_zeros(lanes)
        lanes &= lanes - 1
        n_bytes = u64(sizes[lane])
        source = end_of(warp, read, Scope.SHARED, lane, sources[lane], n_bytes)
        host = end_of(warp, write, Scope.GLOBAL, lane, targets[lane], n_bytes)
        if is_null(host) or is_null(source):
            continue
        if write.segment.flags & SegmentFlag.WRITABLE == 0:
            refuse(warp, write, u32(1) << lane, targets[lane], READONLY)
            continue
        write.counts[11] += n_bytes
        bulk = new_bulk(warp, lane, write, BulkState.STORING)
        bulk.source = read.index
        keep_ends(bulk, write, host, read.aim_offset, i64(n_bytes))


@native
def keep_ends(bulk: Ptr[Bulk], outer: Ptr[Site], host: Ptr[u8], offset: u64, n_bytes: i64) -> void:
    bulk.host = host
    bulk.words = outer.aim_words
    if not is_null(outer.aim_words):
        bulk.words = outer.aim_words + (outer.aim_offset >> 2)
    bulk.offset = u32(offset)
    bulk.n_bytes = n_bytes


@native
def mark_flights(warp: Ptr[Warp], site: Ptr[Site], bulk: Ptr[Bulk]) -> void:
    block = warp.block
    if block.launch.checks & CheckBit.FLIGHTS == 0:
        return
    first = i64(bulk.offset >> 2)
    for word in range(first, first + bulk.n_bytes // 4):
        if block.flights[word] != 0:
            report_flight(warp, site, u32(1) << bulk.lane, word)
        else:
            block.n_flying += 1
        block.flights[word] = BULK | bulk.slot


@native
def land_bulk(block: Ptr[Block], bulk: Ptr[Bulk]) -> void:
    if bulk.state == BulkState.LOADING:
        land_load(block, bulk)
    elif bulk.state == BulkState.STORING:
        land_store(block, bulk)
    bulk.state = BulkState.FREE


@native
def land_load(block: Ptr[Block], bulk: Ptr[Bulk]) -> void:
    """The bytes reach shared memory: for racecheck the thread that began the copy writes them now."""
    warp = warp_at(block, bulk.warp)
    site: Ptr[Site] = warp.thread.sites + bulk.site
    first = i64(bulk.offset >> 2)
    n_words = bulk.n_bytes // 4
    if watched(warp, site, Scope.SHARED):
        shared_write_comes(warp)
        id = make_id(warp, site, bulk.lane, 15, 0)
        for word in range(first, first + n_words):
            write_shared(warp, id, word, True)
    if block.launch.checks & CheckBit.INITCHECK:
        memset(block.shared_words + first, WRITTEN, n_words)
    memcpy(block.shared + i64(bulk.offset), bulk.host, bulk.n_bytes)
    if not is_null(bulk.words):
        for word in range(n_words):
            bulk.words[word] |= READ
    if block.launch.checks & CheckBit.FLIGHTS:
        for word in range(first, first + n_words):
            if block.flights[word] == BULK | bulk.slot:
                block.flights[word] = 0
                block.n_flying -= 1
    complete_bytes(warp, block.mbarriers + i64(bulk.barrier >> 3), bulk.n_bytes)


@native
def land_store(block: Ptr[Block], bulk: Ptr[Bulk]) -> void:
    first = i64(bulk.offset >> 2)
    n_words = bulk.n_bytes // 4
    memcpy(bulk.host, block.shared + i64(bulk.offset), bulk.n_bytes)
    if not is_null(bulk.words):
        for word in range(n_words):
            bulk.words[word] |= WRITTEN
    if block.launch.checks & CheckBit.INITCHECK:
        for word in range(first, first + n_words):
            if block.shared_words[word] & 15 != 15:
                record(warp_at(block, bulk.warp), INIT_SHARED, bulk.source, -1, u32(1) << bulk.lane, u64(word) * 4, 0, 0)
                return


@native
def drop_landed(block: Ptr[Block]) -> void:
    while block.first_bulk != block.next_bulk and block.bulks[block.first_bulk & (BULKS - 1)].state == BulkState.FREE:
        block.first_bulk += 1


@native
def land_bulk_copies(block: Ptr[Block], barrier: u32) -> void:
    """Loads whose mbarrier somebody looks at land."""
    number = block.first_bulk
    while number != block.next_bulk:
        bulk: Ptr[Bulk] = block.bulks + (number & (BULKS - 1))
        if bulk.state == BulkState.LOADING and bulk.barrier == barrier:
            land_bulk(block, bulk)
        number += 1
    drop_landed(block)


@native
def commit_bulk(warp: Ptr[Warp], mask: u32) -> void:
    for lane in range(32):
        warp.bulk_commits[lane] += (mask >> u32(lane)) & u32(1)


@native
def wait_bulk(warp: Ptr[Warp], mask: u32, left: u32) -> void:
    """All but the latest `left` groups of each lane's stores land."""
    block = warp.block
    number = block.first_bulk
    while number != block.next_bulk:
        bulk: Ptr[Bulk] = block.bulks + (number & (BULKS - 1))
        if bulk.state == BulkState.STORING and bulk.warp == warp.index and (mask >> bulk.lane) & 1:
            if u64(bulk.group) + u64(left) < u64(warp.bulk_commits[bulk.lane]):
                land_bulk(block, bulk)
        number += 1
    drop_landed(block)


@native
def land_everything(block: Ptr[Block]) -> void:
    """The block ends: a store that nobody waited for reads memory that is no longer the block's."""
    while block.first_bulk != block.next_bulk:
        bulk: Ptr[Bulk] = block.bulks + (block.first_bulk & (BULKS - 1))
        if bulk.state == BulkState.STORING and block.launch.checks & CheckBit.SYNCCHECK:
            lanes = u32(1) << bulk.lane
            record(warp_at(block, bulk.warp), MBARRIER_MISUSE, bulk.site, -1, lanes, 0, u64(Misuse.NOT_DRAINED), 0)
        land_bulk(block, bulk)
        block.first_bulk += 1


BULK_COPIES = (bulk_load, bulk_store, commit_bulk, wait_bulk)
