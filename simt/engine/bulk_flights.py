"""Bulk copies between their start and the moment when everybody knows that they landed.

A load lands when somebody looks at its mbarrier and has to wait, a store when its thread waits for its group: as late as
the hardware may let them, and what they read they read only then. Until then `Block.flights` marks the words in shared
memory that a load will fill, or that a store is still to read. A load that landed stays marked until each warp waited for
it, or met the others at a barrier since: whoever reads without either is told, in whatever order the warps ran.
"""

from __future__ import annotations

from simt.engine.bulk_rows import all_ready, read_row, reduce_row, write_row
from simt.engine.copy_records import Bulk
from simt.engine.findings import INIT_SHARED, MBARRIER_MISUSE, record
from simt.engine.flying import BULK, SOURCE, BulkState, in_flight, report_flight
from simt.engine.mbarriers import complete_bytes
from simt.engine.misuse import Misuse
from simt.engine.native import native
from simt.engine.proxies import clear_written
from simt.engine.records import Ptr, b1, i32, i64, u8, u32, u64, void
from simt.engine.shadow import WRITTEN
from simt.engine.state import Block, CheckBit, Site, Warp, WarpStatus
from simt.engine.tensor_maps import inner_bytes, map_of, tile_rows
from simt.engine.tiles import tile_in, tile_out
from simt.engine.warps import warp_of

__all__ = [
    "BULKS", "BULK_FLIGHTS", "copied_bytes", "hear_landings", "is_awaited", "land_bulk_copies", "land_everything", "mark_words",
    "land_origin", "new_bulk",
]  # fmt: skip

BULKS = 1024  # in flight in one block; with more the oldest land early


@native
def bulk_at(block: Ptr[Block], number: u32) -> Ptr[Bulk]:
    return block.bulks + (number & (BULKS - 1))


@native
def new_bulk(warp: Ptr[Warp], lane: u32, read: Ptr[Site], write: Ptr[Site], state: i32) -> Ptr[Bulk]:
    """A free place at the ring's end."""
    block = warp.block
    if block.next_bulk - block.first_bulk == BULKS:
        oldest = bulk_at(block, block.first_bulk)
        land_bulk(block, oldest)
        forget(block, oldest)
        drop_landed(block)
    bulk = bulk_at(block, block.next_bulk)
    bulk.slot = block.next_bulk & (BULKS - 1)
    block.next_bulk += 1
    bulk.state = state
    bulk.warp = warp.index
    bulk.lane = lane
    bulk.site = write.index
    bulk.source = read.index
    bulk.group = warp.bulk_commits[lane]
    bulk.waits = warp.bulk_waits[lane]
    bulk.landed = 0
    bulk.told = 0
    bulk.operation = -1
    bulk.rank = 0
    bulk.origin = cast(Ptr[u8], block)
    return bulk


@native
def number_of_bulk(bulk: Ptr[Bulk]) -> u32:
    if bulk.state == BulkState.STORING:
        return BULK | SOURCE | bulk.slot
    return BULK | bulk.slot


@native
def mark_words(warp: Ptr[Warp], site: Ptr[Site], bulk: Ptr[Bulk], first: i64, n_words: i64) -> void:
    """Words of shared memory that the copy will fill, or is still to read."""
    block = warp.block
    if block.launch.checks & CheckBit.FLIGHTS == 0:
        return
    number = number_of_bulk(bulk)
    told = b1(False)
    for word in range(first, first + n_words):
        known = block.flights[word]
        if known == 0:
            block.n_flying += 1
        elif not told and in_flight(warp, site, known):
            report_flight(warp, site, u32(1) << bulk.lane, word)
            told = True
        block.flights[word] = number


@native
def clear_words(block: Ptr[Block], number: u32, offset: u32, n_bytes: i64) -> void:
    if block.launch.checks & CheckBit.FLIGHTS == 0:
        return
    first = i64(offset >> 2)
    for word in range(first, first + n_bytes // 4):
        if block.flights[word] == number:
            block.flights[word] = 0
            block.n_flying -= 1


@native
def forget(block: Ptr[Block], bulk: Ptr[Bulk]) -> void:
    """Everybody knows of the copy's end."""
    if bulk.state == BulkState.FREE:
        return
    clear_words(block, number_of_bulk(bulk), bulk.offset, bulk.n_bytes)
    bulk.state = BulkState.FREE


@native
def land_bulk(block: Ptr[Block], bulk: Ptr[Bulk]) -> void:
    """The copy takes place, once."""
    warp = warp_of(block, bulk.warp)
    read: Ptr[Site] = warp.thread.sites + bulk.source
    write: Ptr[Site] = warp.thread.sites + bulk.site
    if bulk.state == BulkState.STORING:
        land_store(warp, read, write, bulk)
        forget(block, bulk)
    elif bulk.state == BulkState.LOADING:
        land_load(warp, read, write, bulk)
        block.landings += 1
        bulk.landed = block.landings
        bulk.state = BulkState.LANDED
        if block.launch.checks & CheckBit.FLIGHTS == 0:
            bulk.state = BulkState.FREE
        barrier = block.mbarriers + i64(bulk.barrier >> 3)
        if barrier.live != 0:
            complete_bytes(warp, barrier, copied_bytes(bulk))


@native
def copied_bytes(bulk: Ptr[Bulk]) -> i64:
    """Bytes that the mbarrier hears of: of the box, without what a swizzle leaves between its rows."""
    if bulk.rank > 0:
        tile = map_of(bulk)
        return tile_rows(tile) * inner_bytes(tile)
    return bulk.n_bytes


@native
def land_load(warp: Ptr[Warp], read: Ptr[Site], write: Ptr[Site], bulk: Ptr[Bulk]) -> void:
    block = warp.block
    first = i64(bulk.offset >> 2)
    target = block.shared + i64(bulk.offset)
    if bulk.rank > 0:
        tile_in(warp, read, bulk)
    elif bulk.rank == 0:
        read_row(warp, read, bulk.lane, bulk.address, target, bulk.n_bytes)
    else:
        land_inside(warp, read, write, bulk)
    if block.launch.checks & CheckBit.INITCHECK:
        memset(block.shared_words + first, WRITTEN, bulk.n_bytes // 4)
    clear_written(warp, first, bulk.n_bytes // 4)


@native
def land_inside(warp: Ptr[Warp], read: Ptr[Site], write: Ptr[Site], bulk: Ptr[Bulk]) -> void:
    """A copy from shared memory to shared memory, by a reduction where it is one."""
    block = warp.block
    target = block.shared + i64(bulk.offset)
    origin = cast(Ptr[Block], bulk.origin)
    source = origin.shared + i64(bulk.address)
    check_shared_set(origin, warp, read, bulk, bulk.address)
    if bulk.operation >= 0:
        reduce_row(write, bulk, target, source, bulk.n_bytes)
        return
    for at in range(i64(0), bulk.n_bytes, i64(16)):
        memcpy(target + at, source + at, 16)


@native
def land_store(warp: Ptr[Warp], read: Ptr[Site], write: Ptr[Site], bulk: Ptr[Bulk]) -> void:
    if bulk.rank > 0:
        tile_out(warp, read, write, bulk)
        return
    check_shared_set(warp.block, warp, read, bulk, u64(bulk.offset))
    write_row(warp, write, bulk, bulk.address, warp.block.shared + i64(bulk.offset), bulk.n_bytes)


@native
def check_shared_set(block: Ptr[Block], warp: Ptr[Warp], site: Ptr[Site], bulk: Ptr[Bulk], offset: u64) -> void:
    if block.launch.checks & CheckBit.INITCHECK:
        if not all_ready(block.shared_words, offset, bulk.n_bytes):
            word = offset >> 2
            while block.shared_words[word] & 15 == 15:
                word += 1
            record(warp, INIT_SHARED, site.index, -1, u32(1) << bulk.lane, word * 4, 0, 0)


@native
def drop_landed(block: Ptr[Block]) -> void:
    while block.first_bulk != block.next_bulk and bulk_at(block, block.first_bulk).state == BulkState.FREE:
        block.first_bulk += 1


@native
def is_awaited(block: Ptr[Block], barrier: u32) -> b1:
    """Whether a load is still to tell this mbarrier of its bytes."""
    number = block.first_bulk
    while number != block.next_bulk:
        bulk = bulk_at(block, number)
        if bulk.state == BulkState.LOADING and bulk.barrier == barrier:
            return True
        number += 1
    return False


@native
def land_bulk_copies(block: Ptr[Block], barrier: u32) -> void:
    """Loads whose mbarrier somebody waits at land."""
    number = block.first_bulk
    while number != block.next_bulk:
        bulk = bulk_at(block, number)
        if bulk.state == BulkState.LOADING and bulk.barrier == barrier:
            land_bulk(block, bulk)
        number += 1
    drop_landed(block)


@native
def hear_landings(warp: Ptr[Warp]) -> void:
    """The warp waited, or met others who did: it knows of every load that landed so far."""
    block = warp.block
    warp.seen = block.landings
    if block.first_bulk == block.next_bulk:
        return
    least = block.landings
    for index in range(block.n_warps):
        other = warp_of(block, i32(index))
        if other.status != WarpStatus.DONE:
            least = min(least, other.seen)
    number = block.first_bulk
    while number != block.next_bulk:
        bulk = bulk_at(block, number)
        if bulk.state == BulkState.LANDED and bulk.landed <= least:
            forget(block, bulk)
        number += 1
    drop_landed(block)


@native
def commit_bulk(warp: Ptr[Warp], mask: u32) -> void:
    for lane in range(32):
        warp.bulk_commits[lane] += (mask >> u32(lane)) & u32(1)


@native
def wait_bulk(warp: Ptr[Warp], mask: u32, left: u32) -> void:
    """All but the latest `left` groups of each lane's stores land; with `.read` they might only have been read."""
    block = warp.block
    for lane in range(32):
        if (mask >> u32(lane)) & 1:
            warp.bulk_waits[lane] += 1
            warp.bulk_waited_commits[lane] = warp.bulk_commits[lane]
            warp.bulk_waited_left[lane] = left
    number = block.first_bulk
    while number != block.next_bulk:
        bulk = bulk_at(block, number)
        if bulk.state == BulkState.STORING and bulk.warp == warp.index and (mask >> bulk.lane) & 1:
            if u64(bulk.group) + u64(left) < u64(warp.bulk_commits[bulk.lane]):
                land_bulk(block, bulk)
        number += 1
    drop_landed(block)


@native
def land_origin(block: Ptr[Block], origin: Ptr[Block]) -> void:
    """Copies into the block that read another one's shared memory land while that is still there."""
    if is_null(block.bulks) or block == origin:
        return
    number = block.first_bulk
    while number != block.next_bulk:
        bulk = bulk_at(block, number)
        if bulk.state == BulkState.LOADING and bulk.rank < 0 and bulk.origin == cast(Ptr[u8], origin):
            land_bulk(block, bulk)
        number += 1


@native
def land_everything(block: Ptr[Block]) -> void:
    """The block ends: a copy that nobody waited for uses shared memory that is no longer the block's."""
    number = block.first_bulk
    while number != block.next_bulk:
        bulk = bulk_at(block, number)
        flies = b1((bulk.state == BulkState.STORING) | (bulk.state == BulkState.LOADING))
        if flies and bulk.told == 0 and block.launch.checks & CheckBit.SYNCCHECK:
            why: i32 = Misuse.NOT_LANDED
            if bulk.state == BulkState.STORING:
                why = Misuse.NOT_DRAINED
            lanes = u32(1) << bulk.lane
            committed = u64(bulk.group < warp_of(block, bulk.warp).bulk_commits[bulk.lane])
            record(warp_of(block, bulk.warp), MBARRIER_MISUSE, bulk.site, -1, lanes, 0, u64(why), committed)
        land_bulk(block, bulk)
        forget(block, bulk)
        number += 1
    block.first_bulk = block.next_bulk


BULK_FLIGHTS = (commit_bulk, wait_bulk)
