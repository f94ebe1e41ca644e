"""Asynchronous copies in flight and the mbarriers that hear of their bytes, as records beside `simt.engine.state`."""

from __future__ import annotations

from simt.engine.records import Array, Ptr, Record, i32, i64, u8, u32, u64

__all__ = ["Bulk", "Flight", "MBarrier"]


class Flight(Record):
    """One request of `cp.async` whose lanes have not all waited for it; see `simt.engine.async_copies`."""

    pending: u32  # lanes whose bytes are still to come
    n_bytes: i32  # of one lane, 0 for an arrival at the mbarrier at its offset
    site: i32  # of its shared side
    slot: u32  # in its warp's ring
    groups: Array[u32, 32]  # of each lane: commits before it
    waits: Array[u32, 32]  # of each lane: waits before it
    offsets: Array[u32, 32]  # in shared memory
    data: Array[u8, 512]


class MBarrier(Record):
    """What an mbarrier of shared memory stands at; see `simt.engine.mbarriers`."""

    live: i32  # initialised
    expected: u32  # arrivals of a phase
    pending: u32  # arrivals that this phase still waits for
    phase: u32
    missing: i64  # bytes announced less bytes come
    announced: i64  # in this phase
    came: i64
    init_site: i32
    tx_site: i32  # that announced last, -1 for none
    idle_site: i32  # a wait of this phase that found an earlier one over, -1 for none
    idle_parity: i32
    inval_site: i32  # that ended it, -1 for none


class Bulk(Record):
    """A bulk copy that has not been seen to land by everybody; see `simt.engine.bulk_copies`."""

    state: i32
    warp: i32
    lane: u32
    site: i32  # of the side it writes
    source: i32  # of the side it reads
    slot: u32
    group: u32  # its thread's commits before it
    waits: u32  # and waits
    barrier: u32  # offset of a load's mbarrier
    offset: u32  # in shared memory
    n_bytes: i64  # there
    address: u64  # of a row of bytes: in global memory, or where it comes from in shared memory
    told: i32  # a finding named it
    landed: u64  # number of its landing in the block, 0 while it flies
    operation: i32  # of a reduction, a code in ATOMIC_CODES, -1 for none
    atomic_type: i32
    rank: i32  # of a tile, 0 for a row of bytes between global and shared memory, -1 for one inside shared memory
    coordinates: Array[i32, 5]
    map: Array[u8, 128]  # `simt.engine.tensor_maps.TileMap`
    origin: Ptr[u8]  # the Block whose shared memory a copy inside the cluster reads
