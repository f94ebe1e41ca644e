"""Waiting at an mbarrier: looks at its phase, lets late copies land first, and says who waits for what for ever."""

from __future__ import annotations

from simt.engine.async_copies import land_arrivals
from simt.engine.bulk_flights import hear_landings, is_awaited, land_bulk_copies
from simt.engine.copy_records import MBarrier
from simt.engine.findings import MBARRIER_ARRIVALS, MBARRIER_TX, record
from simt.engine.mbarriers import mbarrier_at, misused
from simt.engine.misuse import Misuse
from simt.engine.native import native, rare
from simt.engine.records import Ptr, b1, i32, i64, u32, u64
from simt.engine.state import Block, Site, Warp
from simt.engine.warps import warp_of

__all__ = ["MBARRIER_WAITS", "report_mbarrier"]


@native
def has_passed(barrier: Ptr[MBarrier], token: u64, parity: i32) -> b1:
    """Whether the phase that a parity or a state names is over."""
    if parity != 0:
        return b1((u64(barrier.phase) & 1) != (token & 1))
    return b1(u64(barrier.phase) != token >> 32)


@native
def look(warp: Ptr[Warp], site: Ptr[Site], barrier: Ptr[MBarrier], offset: u32, token: u64, parity: i32) -> b1:
    """Whether the phase is over, which late copies may bring about; one that was over already brings none."""
    if has_passed(barrier, token, parity):
        if parity != 0 and is_awaited(warp.block, offset):
            barrier.idle_site = site.index
            barrier.idle_parity = i32(token & 1)
        return True
    land_arrivals(warp.block, offset)
    land_bulk_copies(warp.block, offset)
    return has_passed(barrier, token, parity)


@native
def mbarrier_test(
    warp: Ptr[Warp], site: Ptr[Site], mask: u32, parity: i32, addresses: Ptr[u64], tokens: Ptr[u64]
) -> u32:
    """Lanes whose phase is over. Where some must wait, the warp's turn ends at its loop's next round."""
    passed: u32 = 0
    warp.awaits = 0
    lanes = mask
    while lanes != 0:
        lane = trailing_zeros(lanes)
        lanes &= lanes - 1
        barrier = mbarrier_at(warp, site, lane, addresses[lane])
        if is_null(barrier):
            passed |= u32(1) << lane
            continue
        offset = site.aim_offset
        if barrier.live == 0:
            misused(warp, site, barrier, lane, Misuse.NOT_INITIALISED)
        if look(warp, site, barrier, u32(offset), tokens[lane], parity):
            passed |= u32(1) << lane
        else:
            warp.awaits = u32(offset) + 1
            warp.awaits_site = site.index
    if passed != 0:
        hear_landings(warp)
    if warp.awaits != 0 and warp.thread.fuel >= 0:
        warp.spared = warp.thread.fuel + 1
        warp.thread.fuel = -1
    return passed


@rare
@native
def report_mbarrier(block: Ptr[Block]) -> b1:
    """Tells at which mbarriers warps wait, each where it waits, and what is missing there; false when none waits at one."""
    told = b1(False)
    for index in range(block.n_warps):
        warp = warp_of(block, index)
        if warp.awaits != 0 and warp.alive != 0:
            told = True
            barrier: Ptr[MBarrier] = block.mbarriers + i64((warp.awaits - 1) >> 3)
            waiting = (u64(barrier.phase) << 32) | u64(threads_at(block, warp.awaits))
            if barrier.pending == 0:
                low = (u64(barrier.announced) << 32) | u64(barrier.came)
                record(
                    warp, MBARRIER_TX, warp.awaits_site, barrier.tx_site, warp.alive, u64(warp.awaits - 1), low, waiting
                )
            else:
                counts = (u64(barrier.expected) << 32) | u64(barrier.pending)
                site = barrier.init_site
                record(
                    warp, MBARRIER_ARRIVALS, warp.awaits_site, site, warp.alive, u64(warp.awaits - 1), counts, waiting
                )
    return told


@native
def threads_at(block: Ptr[Block], place: u32) -> u32:
    total: u32 = 0
    for index in range(block.n_warps):
        warp = warp_of(block, index)
        if warp.awaits == place:
            total += popcount(warp.alive)
    return total


MBARRIER_WAITS = (mbarrier_test,)
