"""cp.async.bulk.tensor: copies of a box of a tensor begin; `simt.engine.tiles` moves their rows."""

from __future__ import annotations

from simt.engine.bulk_copies import begin_filling, begin_storing, end_of, ready_barrier
from simt.engine.bulk_flights import copied_bytes, new_bulk
from simt.engine.clusters import OFFSET_MASK, receiver, receivers
from simt.engine.copy_records import Bulk
from simt.engine.flying import BulkState
from simt.engine.mbarriers import give_up
from simt.engine.misuse import Misuse, report_misuse
from simt.engine.native import native
from simt.engine.records import Ptr, b1, i32, i64, u32, u64, void
from simt.engine.state import Scope, Site, Warp
from simt.engine.tensor_maps import fetch_map, map_of, row_pitch, tile_rows
from simt.engine.tiles import is_reducible, tile_type

__all__ = ["TILE_COPIES"]

ROW_START = 16  # a row of a box begins at a multiple of it: CUDA_ERROR_ILLEGAL_INSTRUCTION on an H200 otherwise
UNIT = 128  # a tile's place in shared memory is a multiple of it (PTX ISA, cp.async.bulk.tensor)


@native
def aim_tile(
    warp: Ptr[Warp], site: Ptr[Site], bulk: Ptr[Bulk], lane: u32, rank: i32, address: u64, place: Ptr[i32]
) -> b1:
    """Reads the map and the coordinates (32 lanes of each dimension); false after saying what is wrong."""
    bulk.rank = rank
    for dimension in range(rank):
        bulk.coordinates[dimension] = place[dimension * 32 + i32(lane)]
    if not fetch_map(warp, site, lane, address, rank, map_of(bulk)):
        return False
    if i64(bulk.coordinates[0]) * i64(map_of(bulk).element_bytes) & (ROW_START - 1) != 0:
        low = u64(u32(bulk.coordinates[0]))
        report_misuse(warp, site, -1, lane, address, Misuse.MAP_START, (u64(map_of(bulk).element_bytes) << 32) | low)
        return False
    return True


@native
def begins_inside(warp: Ptr[Warp], site: Ptr[Site], bulk: Ptr[Bulk], lane: u32, address: u64) -> b1:
    """Whether no coordinate of a store is below 0; false after saying which one is.

    Tiles may be loaded from there and may end outside, but are not written from there (CUDA C++ Programming Guide, tensor
    memory access: negative indices and out of bounds); an H200 stopped with CUDA_ERROR_ILLEGAL_INSTRUCTION.
    """
    for dimension in range(bulk.rank):
        if bulk.coordinates[dimension] < 0:
            low = u64(u32(bulk.coordinates[dimension]))
            report_misuse(warp, site, -1, lane, address, Misuse.MAP_BEFORE, (u64(dimension) << 32) | low)
            return False
    return True


@native
def tile_load(
    warp: Ptr[Warp],
    read: Ptr[Site],
    write: Ptr[Site],
    map_site: Ptr[Site],
    bar: Ptr[Site],
    mask: u32,
    rank: i32,
    maps: Ptr[u64],
    coordinates: Ptr[i32],
    targets: Ptr[u64],
    barriers: Ptr[u64],
    ranks: Ptr[u32],
) -> void:
    """Every active lane loads a box, into all blocks in `ranks` where it is not 0; each's mbarrier hears of the bytes."""
    lanes = mask
    while lanes != 0:
        lane = trailing_zeros(lanes)
        lanes &= lanes - 1
        left = receivers(warp, targets[lane], ranks[lane])
        while left != 0:
            home = receiver(warp, write, lane, trailing_zeros(left), targets[lane])
            left &= left - 1
            if not is_null(home):
                offset = targets[lane] & OFFSET_MASK
                place = barriers[lane] & OFFSET_MASK
                tile_into(home, read, write, map_site, bar, lane, rank, maps[lane], coordinates, offset, place)


@native
def tile_into(
    warp: Ptr[Warp],
    read: Ptr[Site],
    write: Ptr[Site],
    map_site: Ptr[Site],
    bar: Ptr[Site],
    lane: u32,
    rank: i32,
    map: u64,
    coordinates: Ptr[i32],
    offset: u64,
    place: u64,
) -> void:
    """A box comes into the shared memory of the warp's block, where its mbarrier is too."""
    barrier = ready_barrier(warp, bar, lane, place)
    if is_null(barrier):
        return
    bulk = new_bulk(warp, lane, read, write, BulkState.FREE)
    if not aim_tile(warp, map_site, bulk, lane, rank, map, coordinates):
        give_up(warp, barrier, barrier.missing)
        return
    n_bytes = tile_rows(map_of(bulk)) * row_pitch(map_of(bulk))
    if is_null(end_of(warp, write, Scope.SHARED, lane, offset, u64(n_bytes), UNIT)):
        give_up(warp, barrier, copied_bytes(bulk))
        return
    write.counts[11] += u64(copied_bytes(bulk))
    bulk.state = BulkState.LOADING
    bulk.barrier = u32(bar.aim_offset)
    begin_filling(warp, write, bulk, write.aim_offset, n_bytes)


@native
def tile_store(
    warp: Ptr[Warp],
    read: Ptr[Site],
    write: Ptr[Site],
    map_site: Ptr[Site],
    mask: u32,
    rank: i32,
    maps: Ptr[u64],
    coordinates: Ptr[i32],
    sources: Ptr[u64],
    operation: i32,
) -> void:
    """Every active lane stores a box, or reduces into it, in its open group."""
    lanes = mask
    while lanes != 0:
        lane = trailing_zeros(lanes)
        lanes &= lanes - 1
        bulk = new_bulk(warp, lane, read, write, BulkState.FREE)
        if not aim_tile(warp, map_site, bulk, lane, rank, maps[lane], coordinates):
            continue
        if operation >= 0 and not is_reducible(operation, tile_type(map_of(bulk))):
            report_misuse(warp, map_site, -1, lane, maps[lane], Misuse.MAP_REDUCE, u64(map_of(bulk).element))
            continue
        if not begins_inside(warp, map_site, bulk, lane, maps[lane]):
            continue
        n_bytes = tile_rows(map_of(bulk)) * row_pitch(map_of(bulk))
        if is_null(end_of(warp, read, Scope.SHARED, lane, sources[lane], u64(n_bytes), UNIT)):
            continue
        write.counts[11] += u64(copied_bytes(bulk))
        bulk.state = BulkState.STORING
        bulk.operation = operation
        bulk.atomic_type = tile_type(map_of(bulk))
        begin_storing(warp, read, bulk, read.aim_offset, n_bytes)


TILE_COPIES = (tile_load, tile_store)
