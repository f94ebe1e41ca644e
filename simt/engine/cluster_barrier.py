"""The barrier of a cluster: who arrived, who waits, when it opens, and who uses it out of turn.

A lane arrives, goes on, and waits later. `Warp.cluster_arrived` holds lanes whose phase is not over: when every lane that has
not exited is among them, the barrier opens and they are cleared. `Warp.cluster_owed` holds lanes that arrived and have not
waited since: those may not arrive again, as only a wait tells that the barrier completed, and nobody else may wait. They may
exit: the barrier waits for threads that have not (PTX ISA, barrier.cluster and exit).
"""

from __future__ import annotations

from simt.engine.bulk_flights import hear_landings
from simt.engine.clusters import forget_touches
from simt.engine.findings import CLUSTER_MISUSE, DEADLOCK_CLUSTER, record
from simt.engine.native import native, rare
from simt.engine.records import Ptr, b1, i32, u32, u64, void
from simt.engine.state import CLUSTER_BARRIER, Block, CheckBit, Warp, WarpStatus
from simt.engine.warps import warp_of

__all__ = ["AGAIN", "CLUSTER_BARRIERS", "await_cluster", "meet", "report_cluster"]

AGAIN, NO_ARRIVAL = range(2)  # how it is misused


@rare
@native
def out_of_turn(warp: Ptr[Warp], site: i32, lanes: u32, why: i32) -> void:
    if warp.block.launch.checks & CheckBit.SYNCCHECK:
        record(warp, CLUSTER_MISUSE, site, warp.cluster_site, lanes, 0, u64(why), 0)


@native
def cluster_arrive(warp: Ptr[Warp], site: i32, lanes: u32) -> void:
    """barrier.cluster.arrive."""
    again = lanes & warp.cluster_owed
    if again != 0:
        out_of_turn(warp, site, again, AGAIN)
    warp.cluster_arrived = warp.cluster_arrived | lanes
    warp.cluster_owed = warp.cluster_owed | lanes
    warp.cluster_site = site
    warp.thread.changes += 1


@native
def await_cluster(warp: Ptr[Warp]) -> void:
    """barrier.cluster.wait begins for the lanes in `barrier_mask`."""
    lanes = warp.barrier_mask
    if lanes & ~warp.cluster_owed != 0:
        out_of_turn(warp, warp.barrier_site, lanes & ~warp.cluster_owed, NO_ARRIVAL)
    warp.cluster_owed = warp.cluster_owed & ~lanes


@native
def all_arrived(first: Ptr[Block]) -> b1:
    """Whether no lane of the cluster is missing, and some are there."""
    there: u32 = 0
    for rank in range(first.launch.cluster_blocks):
        block = first + rank
        for index in range(block.n_warps):
            warp = warp_of(block, i32(index))
            if warp.alive & ~warp.cluster_arrived != 0:
                return False
            there |= warp.cluster_arrived
    return there != 0


@native
def open_cluster(first: Ptr[Block]) -> void:
    """For racecheck the blocks met at a barrier, and each knows what the others released."""
    first.met += 1
    first.launch.race_epoch += 1
    for rank in range(first.launch.cluster_blocks):
        block = first + rank
        block.epoch += 1
        block.acquired = first.launch.race_epoch
        forget_touches(block)
        for index in range(block.n_warps):
            warp_of(block, i32(index)).cluster_arrived = 0


@native
def let_go(block: Ptr[Block]) -> i32:
    """Warps whose phase is over go on; answers whether any did."""
    gone: i32 = 0
    for index in range(block.n_warps):
        warp = warp_of(block, i32(index))
        if warp.status == WarpStatus.AT_BARRIER and warp.barrier == CLUSTER_BARRIER:
            if warp.cluster_arrived & warp.barrier_mask == 0:
                gone = 1
                warp.status = WarpStatus.READY
                warp.sync_epoch += 1
                if not is_null(block.bulks):
                    hear_landings(warp)
    return gone


@native
def meet(first: Ptr[Block]) -> i32:
    """Opens the barrier of a cluster, given its first block, when all are there; answers whether a warp goes on."""
    if all_arrived(first):
        open_cluster(first)
    gone: i32 = 0
    for rank in range(first.launch.cluster_blocks):
        gone |= let_go(first + rank)
    return gone


@native
def missing_warp(first: Ptr[Block]) -> Ptr[Warp]:
    """The first warp that has not arrived, or null."""
    for rank in range(first.launch.cluster_blocks):
        block = first + rank
        for index in range(block.n_warps):
            warp = warp_of(block, i32(index))
            if warp.alive & ~warp.cluster_arrived != 0:
                return warp
    return 0


@rare
@native
def report_cluster(block: Ptr[Block]) -> b1:
    """Says of the first warp that waits for its cluster who does not come; false when none of the block waits there."""
    for index in range(block.n_warps):
        warp = warp_of(block, i32(index))
        if warp.status == WarpStatus.AT_BARRIER and warp.barrier == CLUSTER_BARRIER:
            other = missing_warp(block.first)
            also: i32 = -1
            place: u64 = 0
            if not is_null(other):
                place = (u64(other.block.linear) << 32) | u64(u32(other.index))
                if other.status == WarpStatus.AT_BARRIER:
                    also = other.barrier_site
                elif other.awaits != 0:
                    also = other.awaits_site
            record(warp, DEADLOCK_CLUSTER, warp.barrier_site, also, warp.barrier_mask, 0, place, u64(is_null(other)))
            return True
    return False


CLUSTER_BARRIERS = (cluster_arrive,)
