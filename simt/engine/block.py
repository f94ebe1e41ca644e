"""Scheduler of one block: runs its warps, and says why a block cannot go on.

Warps take turns; a warp runs until it waits at a barrier, is done, or has used up its slice of fuel. Everything that
must survive a return lives in the records, so a block resumes wherever it stopped.
"""

from __future__ import annotations

import enum

from simt.engine.async_copies import start_copies
from simt.engine.block_barriers import arrive, clear_barriers, release, report_deadlock
from simt.engine.bulk_flights import land_everything
from simt.engine.findings import DIVERGENT, INTRA_WARP_LOCK, LIVELOCK_SPIN, record
from simt.engine.mbarrier_waits import report_mbarrier
from simt.engine.native import native
from simt.engine.races import start_races
from simt.engine.records import Ptr, b1, i32, i64, u8, u32, u64, void
from simt.engine.state import MAX_BARRIERS, Access, Block, CheckBit, Exit, Warp, WarpStatus
from simt.engine.warps import warp_of
from simt.engine.wgmma_rules import end_warpgroups, start_warpgroups

__all__ = [
    "IDLE_ROUNDS", "Outcome", "end_block", "pick", "report_spin", "run_block", "stands_still", "start_block", "start_warps",
    "step",
]  # fmt: skip


class Outcome(enum.IntEnum):
    """What `simt.engine.grid.run_grid` returns to Python."""

    FINISHED = 0
    NEED_MASKED = 1  # translate the masked code, then call again
    STOPPED = 2
    PAUSED = 3  # fuel for this call is used up: look at the clock, then call again


IDLE_ROUNDS = 100  # rounds of waiting after which nobody will come: one is thousands of looks at the flag


@native
def start_warps(block: Ptr[Block]) -> void:
    """Thread coordinates and lane masks: the same for every block that uses this state."""
    launch = block.launch
    total = launch.threads_per_block
    for index in range(block.n_warps):
        warp = warp_of(block, index)
        full: u32 = 0
        for lane in range(32):
            thread: u32 = u32(index) * 32 + u32(lane)
            if i32(thread) < total:
                full = full | (u32(1) << u32(lane))
            warp.tid_x[lane] = thread % launch.block[0]
            warp.tid_y[lane] = (thread // launch.block[0]) % launch.block[1]
            warp.tid_z[lane] = thread // (launch.block[0] * launch.block[1])
        warp.full = full
        warp.index = i32(index)


@native
def start_block(block: Ptr[Block], linear: i64) -> void:
    """The block's coordinates, poisoned shared memory, empty barriers and every warp before its first instruction."""
    launch = block.launch
    block.linear = linear
    block.x = u32(linear % i64(launch.grid[0]))
    block.y = u32((linear // i64(launch.grid[0])) % i64(launch.grid[1]))
    block.z = u32(linear // (i64(launch.grid[0]) * i64(launch.grid[1])))
    block.epoch += 1
    block.live_warps = block.n_warps
    block.exit_site = -1
    words = (launch.shared_bytes + 3) // 4
    memset(block.shared, 255, words * 4)
    if launch.checks & CheckBit.INITCHECK:
        memset(block.shared_words, 0, words)
    if launch.checks & CheckBit.RACE_SHARED:
        start_races(block, words)
    if not is_null(block.flights):
        start_copies(block)
    if not is_null(block.readings):
        start_warpgroups(block)
    if launch.local_bytes > 0:
        lanes = i64(block.n_warps) * 32
        memset(block.local, 255, lanes * launch.local_bytes)
        if launch.checks & CheckBit.INITCHECK:
            memset(block.local_words, 0, lanes * ((launch.local_bytes + 3) // 4))
    clear_barriers(block)
    for index in range(block.n_warps):
        start_warp(warp_of(block, i32(index)), launch.n_blocks_cfg, launch.undefined_bytes)


@native
def start_warp(warp: Ptr[Warp], n_blocks: i32, undefined_bytes: i64) -> void:
    warp.status = WarpStatus.READY
    warp.resume = 0
    warp.alive = warp.full
    warp.masked = i32(warp.full != 4294967295)
    warp.force = 0
    warp.rotate = 0
    warp.parked_barrier = -1
    memset(cast(Ptr[u8], warp.pending), 0, i64(n_blocks) * 4)
    memset(cast(Ptr[u8], warp.parked), 0, i64(n_blocks) * 4)
    memset(warp.registers, 255, undefined_bytes)
    if warp.masked != 0:
        warp.pending[0] = warp.full


@native
def run_warp(warp: Ptr[Warp]) -> i32:
    """Runs generated code until the warp waits, ends, or is out of fuel; answers with an `Exit`."""
    launch = warp.block.launch
    while True:
        if warp.masked == 0:
            code = call(i32, launch.full_code, warp)
            if code == Exit.DIVERGED:
                warp.masked = 1
                continue
            return code
        if is_null(launch.masked_code):
            return Exit.DIVERGED
        code = call(i32, launch.masked_code, warp)
        if code == Exit.RECONVERGED:
            warp.masked = 0
            continue
        return code


@native
def pick(warp: Ptr[Warp]) -> i32:
    """The pending block of lowest rank that may run, or -1. Lanes parked there join."""
    n_blocks = warp.block.launch.n_blocks_cfg
    if warp.rotate != 0:
        warp.rotate = 0
        for offset in range(n_blocks):
            index = n_blocks - 1 - offset
            if warp.pending[index] != 0:
                return index
        return -1
    for index in range(n_blocks):
        if warp.pending[index] != 0:
            warp.pending[index] = warp.pending[index] | warp.parked[index]
            warp.parked[index] = 0
            return index
    for index in range(n_blocks):
        if warp.parked[index] != 0 and (warp.force != 0 or warp.parked[index] == warp.alive):
            warp.pending[index] = warp.parked[index]
            warp.parked[index] = 0
            warp.parked_barrier = -1
            return index
    return -1


@native
def stuck(block: Ptr[Block], warp: Ptr[Warp]) -> i32:
    """All groups of a warp are parked: at a barrier that not all lanes reach, or at a warp-level synchronisation."""
    if warp.parked_barrier >= 0:
        live = i32(popcount(warp.alive))
        record(warp, DIVERGENT, warp.parked_barrier, -1, 0, 0, u64(live), 0)
        return 0
    warp.force = 1
    return 1


@native
def step_back(warp: Ptr[Warp]) -> void:
    """After a turn of waiting another group of the warp goes first; lanes that waited for their own warp are told."""
    groups: i32 = 0
    for index in range(warp.block.launch.n_blocks_cfg):
        if warp.pending[index] != 0:
            groups += 1
    if warp.masked == 0 or groups < 2:
        return
    warp.rotate = 1
    if warp.block.launch.checks & CheckBit.SYNCCHECK and warp.block.launch.spin_is_lock != 0:
        record(warp, INTRA_WARP_LOCK, warp.block.launch.spin_site, -1, warp.alive, 0, 0, 0)


@native
def step(block: Ptr[Block], warp: Ptr[Warp]) -> i32:
    """One turn of a warp; answers with an `Outcome`, FINISHED meaning that the turn went well.

    Every turn begins with the same fuel, so that what a warp does never depends on which thread runs it.
    """
    thread = block.thread
    launch = block.launch
    thread.fuel = launch.slice
    code = run_warp(warp)
    spent = launch.slice - thread.fuel - warp.spared
    warp.spared = 0
    thread.budget -= spent
    thread.issued += u64(spent)
    thread.fuel = 0
    if code == Exit.DONE:
        warp.status = WarpStatus.DONE
        warp.alive = 0
        block.live_warps -= 1
    elif code == Exit.BARRIER:
        warp.status = WarpStatus.AT_BARRIER
        arrive(block, warp)
    elif code == Exit.FUEL or code == Exit.YIELD:
        if launch.spins != 0:
            step_back(warp)
        if thread.budget <= 0 or launch.stop != 0:
            return Outcome.PAUSED
    elif code == Exit.DIVERGED:
        return Outcome.NEED_MASKED
    elif code == Exit.STUCK:
        if stuck(block, warp) == 0:
            return Outcome.STOPPED
    else:
        return Outcome.STOPPED
    return Outcome.FINISHED


@native
def stands_still(block: Ptr[Block], rounds: i32) -> b1:
    """Whether for so many rounds the warps have only run loops that wait, and changed nothing that could end them."""
    thread = block.thread
    launch = block.launch
    done = thread.changes
    for index in range(launch.n_blocks_cfg):
        if launch.waiting[index] == 0:
            done += thread.block_runs[4 * index] + thread.block_runs[4 * index + 1]
    for index in range(launch.n_sites):
        if thread.sites[index].access == Access.STORE:
            done += thread.sites[index].counts[0] + thread.sites[index].counts[4]
    if done != block.progress:
        block.progress = done
        block.idle_rounds = 0
        return False
    block.idle_rounds += 1
    return block.idle_rounds > rounds


@native
def report_spin(block: Ptr[Block]) -> void:
    """Records the first warp whose loop waits for what nobody is left to change."""
    for index in range(block.n_warps):
        warp = warp_of(block, i32(index))
        if warp.status == WarpStatus.READY:
            record(warp, LIVELOCK_SPIN, block.launch.spin_site, -1, warp.alive, 0, 0, 0)
            return


@native
def run_block(block: Ptr[Block]) -> i32:
    """Runs a started block to its end, or answers why not."""
    while block.live_warps > 0:
        moved: i32 = 0
        for index in range(block.n_warps):
            warp = warp_of(block, i32(index))
            if warp.status == WarpStatus.READY:
                moved = 1
                code = step(block, warp)
                if code != Outcome.FINISHED:
                    return code
        for barrier in range(MAX_BARRIERS):
            if release(block, i32(barrier)) != 0:
                moved = 1
        if moved == 0 and block.live_warps > 0:
            report_deadlock(block)
            return Outcome.STOPPED
        if block.live_warps > 0 and (block.thread.budget <= 0 or block.launch.stop != 0):
            return Outcome.PAUSED  # a loop around a barrier never uses up a slice
        if block.launch.spins != 0 and stands_still(block, IDLE_ROUNDS):
            if is_null(block.mbarriers) or not report_mbarrier(block):
                report_spin(block)
            return Outcome.STOPPED
    end_block(block)
    return Outcome.FINISHED


@native
def end_block(block: Ptr[Block]) -> void:
    """What is left of copies and products takes place."""
    if not is_null(block.bulks):
        land_everything(block)
    if not is_null(block.readings):
        end_warpgroups(block)
