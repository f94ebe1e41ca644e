"""Blocks that are resident together take turns in one native thread: a cluster, or the grid of a cooperative launch.

In a round every block of the group runs each of its warps once. What a round does never depends on when the thread was
interrupted: it goes on where it stopped. When no warp can go on, or all only wait, a finding says who waits where.
"""

from __future__ import annotations

from simt.engine.block import (
    IDLE_ROUNDS,
    Outcome,
    end_block,
    report_spin,
    stands_still,
    start_block,
    step,
)
from simt.engine.block_barriers import release, report_deadlock
from simt.engine.bulk_flights import land_everything, land_origin
from simt.engine.cluster_barrier import meet, report_cluster
from simt.engine.clusters import report_touch
from simt.engine.mbarrier_waits import report_mbarrier
from simt.engine.native import native, rare
from simt.engine.records import Ptr, b1, i32, i64, u32, void
from simt.engine.state import MAX_BARRIERS, Block, Launch, WarpStatus
from simt.engine.warps import warp_of

__all__ = ["run_group", "start_group"]


@native
def linear_of(launch: Ptr[Launch], position: i64) -> i64:
    """The linear index of a block, counted cluster by cluster."""
    if launch.cluster_blocks == 1:
        return position
    index = u32(position // i64(launch.cluster_blocks))
    rank = u32(position % i64(launch.cluster_blocks))
    wide = launch.cluster[0]
    high = launch.cluster[1]
    across = launch.grid[0] // wide
    down = launch.grid[1] // high
    x = index % across * wide + rank % wide
    y = index // across % down * high + rank // wide % high
    z = index // (across * down) * launch.cluster[2] + rank // (wide * high)
    return i64(x) + i64(launch.grid[0]) * (i64(y) + i64(launch.grid[1]) * i64(z))


@native
def start_group(first: Ptr[Block], number: i64) -> void:
    """Every block before its first instruction, clusters one after another."""
    launch = first.launch
    first.thread.turn = 0
    first.thread.moved = 0
    first.idle_rounds = 0
    for index in range(launch.group):
        block = first + index
        block.rank = i32(index) % launch.cluster_blocks
        block.first = first + (i32(index) - block.rank)
        block.turn = 0
        block.met = 0
        block.touched_site = -1
        for place in range(block.n_warps):
            warp = warp_of(block, i32(place))
            warp.cluster_arrived = 0
            warp.cluster_owed = 0
            warp.awaits = 0
        start_block(block, linear_of(launch, number * i64(launch.group) + i64(index)))


@native
def end_member(block: Ptr[Block]) -> void:
    """A block of a group is over: nobody may use its shared memory any more."""
    for rank in range(block.launch.cluster_blocks):
        land_origin(block.first + rank, block)
    report_touch(block)
    end_block(block)
    memset(block.shared, 255, block.launch.shared_bytes)


@native
def run_round(block: Ptr[Block]) -> i32:
    """Every warp that can run takes one turn; answers with an `Outcome`, PAUSED being left to the group."""
    thread = block.thread
    for index in range(block.turn, block.n_warps):
        warp = warp_of(block, i32(index))
        if warp.status == WarpStatus.READY:
            thread.moved = 1
            code = step(block, warp)
            if code != Outcome.FINISHED and code != Outcome.PAUSED:
                block.turn = i32(index)
                return code
    block.turn = 0
    for barrier in range(MAX_BARRIERS):
        if release(block, i32(barrier)) != 0:
            thread.moved = 1
    if block.live_warps == 0:
        end_member(block)
    return Outcome.FINISHED


@native
def run_rounds(first: Ptr[Block]) -> i32:
    """Goes on with a round until each block had its turn."""
    thread = first.thread
    launch = first.launch
    while thread.turn < launch.group:
        block = first + thread.turn
        if block.live_warps > 0:
            code = run_round(block)
            if code != Outcome.FINISHED:
                return code
        thread.turn += 1
        if thread.budget <= 0 or launch.stop != 0:
            return Outcome.PAUSED
    thread.turn = 0
    return Outcome.FINISHED


@native
def meet_all(first: Ptr[Block]) -> void:
    """Looks at the barrier of each cluster."""
    launch = first.launch
    for index in range(0, launch.group, launch.cluster_blocks):
        if meet(first + index) != 0:
            first.thread.moved = 1


@native
def is_over(first: Ptr[Block]) -> b1:
    for index in range(first.launch.group):
        if (first + index).live_warps > 0:
            return False
    return True


@rare
@native
def report_standstill(first: Ptr[Block]) -> void:
    """Why nobody can go on: at an mbarrier, at the barrier of a cluster, at one of a block, in a loop."""
    for index in range(first.launch.group):
        block = first + index
        if block.live_warps > 0 and not is_null(block.mbarriers) and report_mbarrier(block):
            return
    for index in range(first.launch.group):
        if report_cluster(first + index):
            return
    for index in range(first.launch.group):
        if (first + index).live_warps > 0:
            report_deadlock(first + index)
            report_spin(first + index)
            return


@native
def run_group(first: Ptr[Block]) -> i32:
    """Runs a started group to its end, or answers why not."""
    thread = first.thread
    launch = first.launch
    while True:
        code = run_rounds(first)
        if code != Outcome.FINISHED:
            return code
        meet_all(first)
        if is_over(first):
            break
        if thread.moved == 0 or (launch.spins != 0 and stands_still(first, IDLE_ROUNDS // launch.group + 4)):
            report_standstill(first)
            return Outcome.STOPPED
        thread.moved = 0
    for index in range(launch.group):
        if not is_null((first + index).bulks):
            land_everything(first + index)
    return Outcome.FINISHED
