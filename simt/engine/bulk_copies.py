"""cp.async.bulk and cp.reduce.async.bulk: one thread's copy of many bytes begins.

Both ends are looked at before anything moves; `simt.engine.bulk_flights` has the rest of its life.
"""

from __future__ import annotations

from simt.engine.bulk_flights import mark_words, new_bulk
from simt.engine.clusters import OFFSET_MASK, receiver, receivers
from simt.engine.copy_records import Bulk, MBarrier
from simt.engine.findings import MISALIGNED, READONLY
from simt.engine.flying import BulkState
from simt.engine.lanewise import outside, refuse
from simt.engine.mbarriers import give_up, mbarrier_at, misused
from simt.engine.misuse import Misuse, report_misuse
from simt.engine.native import native
from simt.engine.proxies import read_by_proxy
from simt.engine.races import watched
from simt.engine.races_log import shared_write_comes
from simt.engine.races_shared import make_id, read_shared, write_shared
from simt.engine.records import Ptr, i32, i64, u8, u32, u64, void
from simt.engine.segments import aim
from simt.engine.state import Scope, SegmentFlag, Site, Warp
from simt.engine.wgmma_rules import overwrite_reading

__all__ = ["BULK_COPIES", "begin_filling", "begin_reading", "end_of", "ready_barrier"]

UNIT = 16  # addresses and sizes are multiples of it (PTX ISA, cp.async.bulk)


@native
def end_of(warp: Ptr[Warp], site: Ptr[Site], scope: i32, lane: u32, address: u64, n_bytes: u64, unit: u64) -> Ptr[u8]:
    """Host address of one end of a copy, or null after saying what is wrong with it; fills `site.aim_*`."""
    host = aim(warp, site, scope, address, lane)
    if is_null(host) or site.aim_bytes - site.aim_offset < n_bytes:
        refuse(warp, site, u32(1) << lane, address, outside(site, scope, address))
        return 0
    if address & (unit - 1) or n_bytes & (UNIT - 1):
        wrong = address
        if address & (unit - 1) == 0:
            wrong = address + n_bytes
        refuse(warp, site, u32(1) << lane, wrong, MISALIGNED)
        return 0
    return host


@native
def ready_barrier(warp: Ptr[Warp], site: Ptr[Site], lane: u32, address: u64) -> Ptr[MBarrier]:
    """The mbarrier of a load, or null where there is none; one that is not initialised is told of and taken."""
    barrier = mbarrier_at(warp, site, lane, address)
    if not is_null(barrier) and barrier.live == 0:
        misused(warp, site, barrier, lane, Misuse.NOT_INITIALISED)
    return barrier


@native
def begin_filling(warp: Ptr[Warp], site: Ptr[Site], bulk: Ptr[Bulk], offset: u64, n_bytes: i64) -> void:
    """Shared memory from `offset` on is the copy's until it landed: for racecheck its thread writes there now."""
    bulk.offset = u32(offset)
    bulk.n_bytes = n_bytes
    first = i64(offset >> 2)
    if watched(warp, site, Scope.SHARED):
        shared_write_comes(warp)
        id = make_id(warp, site, bulk.lane, 15, 0)
        for word in range(first, first + n_bytes // 4):
            write_shared(warp, id, word, True)
    mark_words(warp, site, bulk, first, n_bytes // 4)
    if not is_null(warp.block.readings):
        overwrite_reading(warp, site, u32(1) << bulk.lane, offset, u64(n_bytes))


@native
def begin_reading(warp: Ptr[Warp], site: Ptr[Site], lane: u32, offset: u64, n_bytes: i64) -> void:
    """A copy will read shared memory: what others wrote there must be behind a barrier and a proxy fence."""
    first = i64(offset >> 2)
    read_by_proxy(warp, site, lane, first, n_bytes // 4)
    if watched(warp, site, Scope.SHARED):
        id = make_id(warp, site, lane, 15, 0)
        for word in range(first, first + n_bytes // 4):
            read_shared(warp, id, u32(1) << lane, word)


@native
def bulk_load(
    warp: Ptr[Warp],
    read: Ptr[Site],
    write: Ptr[Site],
    bar: Ptr[Site],
    mask: u32,
    sources: Ptr[u64],
    targets: Ptr[u64],
    sizes: Ptr[u32],
    barriers: Ptr[u64],
    ranks: Ptr[u32],
) -> void:
    """Every active lane copies from global to shared memory, of all blocks in `ranks` where it is not 0."""
    lanes = mask
    while lanes != 0:
        lane = trailing_zeros(lanes)
        lanes &= lanes - 1
        left = receivers(warp, targets[lane], ranks[lane])
        while left != 0:
            home = receiver(warp, write, lane, trailing_zeros(left), targets[lane])
            left &= left - 1
            if not is_null(home) and sizes[lane] != 0:
                offset = targets[lane] & OFFSET_MASK
                load_into(
                    home, read, write, bar, lane, sources[lane], offset, u64(sizes[lane]), barriers[lane] & OFFSET_MASK
                )


@native
def load_into(
    warp: Ptr[Warp],
    read: Ptr[Site],
    write: Ptr[Site],
    bar: Ptr[Site],
    lane: u32,
    source: u64,
    offset: u64,
    n_bytes: u64,
    place: u64,
) -> void:
    """A load into the shared memory of the warp's block, where its mbarrier is too."""
    barrier = ready_barrier(warp, bar, lane, place)
    if is_null(barrier):
        return
    host = end_of(warp, read, Scope.GLOBAL, lane, source, n_bytes, UNIT)
    target = end_of(warp, write, Scope.SHARED, lane, offset, n_bytes, UNIT)
    if is_null(host) or is_null(target):
        give_up(warp, barrier, i64(n_bytes))
        return
    write.counts[11] += n_bytes
    bulk = new_bulk(warp, lane, read, write, BulkState.LOADING)
    bulk.barrier = u32(bar.aim_offset)
    bulk.address = source
    begin_filling(warp, write, bulk, write.aim_offset, i64(n_bytes))


@native
def bulk_inside(
    warp: Ptr[Warp], read: Ptr[Site], write: Ptr[Site], bar: Ptr[Site], mask: u32, sources: Ptr[u64], targets: Ptr[u64],
    sizes: Ptr[u32], barriers: Ptr[u64], operation: i32, kind: i32
) -> void:  # fmt: skip
    """Every active lane copies inside the shared memory of the cluster, or reduces into it; its mbarrier there hears of it."""
    lanes = mask
    while lanes != 0:
        lane = trailing_zeros(lanes)
        lanes &= lanes - 1
        n_bytes = u64(sizes[lane])
        home = receiver(warp, write, lane, trailing_zeros(receivers(warp, targets[lane], 0)), targets[lane])
        if is_null(home) or n_bytes == 0:
            continue
        barrier = ready_barrier(home, bar, lane, barriers[lane] & OFFSET_MASK)
        if is_null(barrier):
            continue
        if warp.block.launch.explicit_cluster == 0:
            report_misuse(warp, write, -1, lane, targets[lane], Misuse.NO_CLUSTER, n_bytes)
            give_up(home, barrier, i64(n_bytes))
            continue
        source = end_of(warp, read, Scope.SHARED, lane, sources[lane], n_bytes, UNIT)
        target = end_of(home, write, Scope.SHARED, lane, targets[lane] & OFFSET_MASK, n_bytes, UNIT)
        if is_null(source) or is_null(target):
            give_up(home, barrier, i64(n_bytes))
            continue
        write.counts[11] += n_bytes
        begin_reading(warp, read, lane, read.aim_offset, i64(n_bytes))
        bulk = new_bulk(home, lane, read, write, BulkState.LOADING)
        bulk.origin = cast(Ptr[u8], warp.block)
        bulk.rank = -1
        bulk.operation = operation
        bulk.atomic_type = kind
        bulk.barrier = u32(bar.aim_offset)
        bulk.address = read.aim_offset
        begin_filling(home, write, bulk, write.aim_offset, i64(n_bytes))


@native
def bulk_store(
    warp: Ptr[Warp],
    read: Ptr[Site],
    write: Ptr[Site],
    mask: u32,
    sources: Ptr[u64],
    targets: Ptr[u64],
    sizes: Ptr[u32],
    operation: i32,
    kind: i32,
) -> void:
    """Every active lane copies from shared to global memory, or reduces into it, in its open group."""
    lanes = mask
    while lanes != 0:
        lane = trailing_zeros(lanes)
        lanes &= lanes - 1
        n_bytes = u64(sizes[lane])
        if n_bytes == 0:
            continue
        source = end_of(warp, read, Scope.SHARED, lane, sources[lane], n_bytes, UNIT)
        host = end_of(warp, write, Scope.GLOBAL, lane, targets[lane], n_bytes, UNIT)
        if is_null(host) or is_null(source):
            continue
        if write.segment.flags & SegmentFlag.WRITABLE == 0:
            refuse(warp, write, u32(1) << lane, targets[lane], READONLY)
            continue
        write.counts[11] += n_bytes
        bulk = new_bulk(warp, lane, read, write, BulkState.STORING)
        bulk.operation = operation
        bulk.atomic_type = kind
        bulk.address = targets[lane]
        begin_storing(warp, read, bulk, read.aim_offset, i64(n_bytes))


@native
def begin_storing(warp: Ptr[Warp], site: Ptr[Site], bulk: Ptr[Bulk], offset: u64, n_bytes: i64) -> void:
    """Shared memory from `offset` on must stay as it is until the copy read it."""
    bulk.offset = u32(offset)
    bulk.n_bytes = n_bytes
    begin_reading(warp, site, bulk.lane, offset, n_bytes)
    mark_words(warp, site, bulk, i64(offset >> 2), n_bytes // 4)


BULK_COPIES = (bulk_load, bulk_inside, bulk_store)
