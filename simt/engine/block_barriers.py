"""Barriers of a block: who arrived, when one opens, and what is wrong with who did not come."""

from __future__ import annotations

from simt.engine.bulk_flights import hear_landings
from simt.engine.cluster_barrier import await_cluster
from simt.engine.findings import DEADLOCK_BARRIER, DIVERGENT, EXITED_THREADS, record
from simt.engine.native import native
from simt.engine.records import Ptr, i32, u64, void
from simt.engine.state import CLUSTER_BARRIER, MAX_BARRIERS, Barrier, Block, CheckBit, Thread, Warp, WarpStatus
from simt.engine.warps import warp_of

__all__ = ["arrive", "clear_barriers", "release", "report_deadlock"]


@native
def clear_barriers(block: Ptr[Block]) -> void:
    """A block begins: nobody has arrived anywhere."""
    for index in range(MAX_BARRIERS):
        clear_barrier(addr(block.barriers) + index)


@native
def clear_barrier(barrier: Ptr[Barrier]) -> void:
    barrier.arrived = 0
    barrier.expected = 0
    barrier.site = -1
    barrier.count_true = 0
    barrier.waiting = 0
    barrier.divergent = 0
    barrier.mixed = 0


@native
def arrive(block: Ptr[Block], warp: Ptr[Warp]) -> void:
    """Counts a warp's lanes at the barrier it names."""
    if warp.barrier == CLUSTER_BARRIER:
        await_cluster(warp)
        return
    barrier = addr(block.barriers) + warp.barrier
    if barrier.site < 0:
        barrier.site = warp.barrier_site
    elif barrier.site != warp.barrier_site and same_line(block.thread, barrier.site, warp.barrier_site) == 0:
        if warp.barrier_threads == 0:
            barrier.mixed = 1
    barrier.arrived += i32(popcount(warp.barrier_mask))
    barrier.expected = warp.barrier_threads
    barrier.divergent = barrier.divergent | warp.barrier_divergent
    barrier.count_true += i32(popcount(warp.barrier_predicate & warp.barrier_mask))


@native
def same_line(thread: Ptr[Thread], left: i32, right: i32) -> i32:
    return i32(thread.sites[left].line == thread.sites[right].line)


@native
def live_threads(block: Ptr[Block]) -> i32:
    total: i32 = 0
    for index in range(block.n_warps):
        total += i32(popcount(warp_of(block, i32(index)).alive))
    return total


@native
def release(block: Ptr[Block], index: i32) -> i32:
    """Opens barrier `index` when all its threads have arrived; answers whether it did."""
    barrier = addr(block.barriers) + index
    if barrier.site < 0:
        return 0
    live = live_threads(block)
    wanted = live if barrier.expected == 0 else barrier.expected
    if barrier.arrived < wanted:
        return 0
    block.epoch += 1  # of part of the block too: racecheck then misses races with the others but never invents one
    if barrier.expected == 0:
        if live < block.launch.threads_per_block or barrier.mixed != 0:
            report_incomplete(block, barrier, live)
    for slot in range(block.n_warps):
        warp = warp_of(block, i32(slot))
        if warp.status == WarpStatus.AT_BARRIER and warp.barrier == index:
            warp.status = WarpStatus.READY
            warp.barrier_value = barrier.count_true
            warp.barrier_expected = barrier.arrived
            warp.sync_epoch += 1
            if not is_null(block.bulks):
                hear_landings(warp)
    clear_barrier(barrier)
    return 1


@native
def report_incomplete(block: Ptr[Block], barrier: Ptr[Barrier], live: i32) -> void:
    if (block.launch.checks & CheckBit.SYNCCHECK) == 0:
        return
    total = block.launch.threads_per_block
    check: i32 = DIVERGENT if barrier.divergent != 0 or barrier.mixed != 0 else EXITED_THREADS
    other: i32 = block.exit_site if live < total else -1
    warp = warp_of(block, 0)
    record(warp, check, barrier.site, other, 0, 0, u64(live), u64(total - live))


@native
def report_deadlock(block: Ptr[Block]) -> void:
    """Records the first warp that waits at a barrier which the others never reach."""
    for index in range(block.n_warps):
        warp = warp_of(block, i32(index))
        if warp.status == WarpStatus.AT_BARRIER and warp.barrier != CLUSTER_BARRIER:
            waits = addr(block.barriers) + warp.barrier
            record(
                warp,
                DEADLOCK_BARRIER,
                warp.barrier_site,
                -1,
                warp.barrier_mask,
                u64(warp.barrier),
                u64(waits.arrived),
                u64(waits.expected),
            )
            return
