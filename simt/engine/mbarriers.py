"""mbarriers: arrivals, announced bytes and phases, exactly as the PTX manual counts them.

The state lives beside shared memory in `Block.mbarriers`, one record for each eight bytes; memory itself holds an opaque
word. A phase ends when no arrival and no byte is missing; for racecheck that is a barrier of the block.
"""

from __future__ import annotations

import enum

from simt.engine.clusters import forget_touches, owner_of
from simt.engine.copy_records import MBarrier
from simt.engine.lanewise import reach
from simt.engine.misuse import Misuse, report_misuse
from simt.engine.native import native, rare
from simt.engine.records import Ptr, i32, i64, u32, u64, void
from simt.engine.segments import is_distant, scope_of
from simt.engine.shadow import WRITTEN, lane_mark
from simt.engine.state import Block, CheckBit, Scope, Site, Warp

__all__ = [
    "MBARRIERS",
    "Operation",
    "arrive_at",
    "complete_bytes",
    "give_up",
    "mbarrier_at",
    "misused",
    "start_mbarriers",
]

MOST = (1 << 20) - 1  # arrivals, and bytes of a phase (PTX ISA, mbarrier, contents of the mbarrier object)


class Operation(enum.IntEnum):
    INIT = 0
    INVALIDATE = 1
    ARRIVE = 2
    DROP = 3
    EXPECT = 4
    COMPLETE = 5
    ANNOUNCE = 6  # announces bytes, then arrives
    ANNOUNCE_DROP = 7


@native
def start_mbarriers(block: Ptr[Block]) -> void:
    """A block begins: no mbarrier is initialised."""
    for index in range((block.launch.shared_bytes + 7) // 8):
        block.mbarriers[index].live = 0
        block.mbarriers[index].inval_site = -1


@native
def mbarrier_at(warp: Ptr[Warp], site: Ptr[Site], lane: u32, address: u64) -> Ptr[MBarrier]:
    """The mbarrier at an address in shared memory, or null after saying why there is none."""
    if is_null(reach(warp, site, u32(1) << lane, address)):
        return 0
    if scope_of(site, address) != Scope.SHARED:
        return 0
    return owner_of(warp, site, address).mbarriers + i64(site.aim_offset >> 3)


@rare
@native
def misused(warp: Ptr[Warp], site: Ptr[Site], barrier: Ptr[MBarrier], lane: u32, why: i32) -> void:
    """Somebody uses an mbarrier against its rules; one that was invalidated is told apart from one never initialised."""
    reason = why
    other: i32 = barrier.init_site
    if why == Misuse.NOT_INITIALISED:
        other = barrier.inval_site
        if other >= 0:
            reason = Misuse.INVALIDATED
    value = u64(barrier.expected)
    if why == Misuse.TX_RANGE:
        value = u64(barrier.missing)
    report_misuse(warp, site, other, lane, site.aim_offset, reason, value)


@native
def end_phase(warp: Ptr[Warp], barrier: Ptr[MBarrier]) -> void:
    """Begins the next phase when nothing is missing."""
    warp.thread.changes += 1
    if barrier.pending == 0 and barrier.missing == 0:
        barrier.phase += 1
        barrier.pending = barrier.expected
        barrier.announced = 0
        barrier.came = 0
        barrier.tx_site = -1
        barrier.idle_site = -1
        warp.block.epoch += 1


@native
def arrive_at(warp: Ptr[Warp], site: Ptr[Site], barrier: Ptr[MBarrier], lane: u32, count: u32) -> void:
    """Counts arrivals of one lane, which may end the phase; more than are expected are a misuse."""
    if barrier.pending < count:
        misused(warp, site, barrier, lane, Misuse.TOO_MANY)
        barrier.pending = count
    barrier.pending -= count
    end_phase(warp, barrier)


@native
def announce_bytes(warp: Ptr[Warp], site: Ptr[Site], barrier: Ptr[MBarrier], lane: u32, n_bytes: u32) -> void:
    barrier.missing += i64(n_bytes)
    barrier.announced += i64(n_bytes)
    barrier.tx_site = site.index
    if barrier.missing > MOST:
        misused(warp, site, barrier, lane, Misuse.TX_RANGE)


@native
def complete_bytes(warp: Ptr[Warp], barrier: Ptr[MBarrier], n_bytes: i64) -> void:
    """Counts bytes that a copy brought, which may end the phase."""
    barrier.missing -= n_bytes
    barrier.came += n_bytes
    end_phase(warp, barrier)


@native
def give_up(warp: Ptr[Warp], barrier: Ptr[MBarrier], n_bytes: i64) -> void:
    """A copy that was refused: its bytes count as come, so that what is told stays one finding."""
    if barrier.live != 0:
        complete_bytes(warp, barrier, n_bytes)


@native
def begin(warp: Ptr[Warp], site: Ptr[Site], barrier: Ptr[MBarrier], lane: u32, count: u32) -> void:
    if barrier.live != 0:
        misused(warp, site, barrier, lane, Misuse.AGAIN)
    barrier.expected = count
    if count == 0 or count > MOST:
        misused(warp, site, barrier, lane, Misuse.COUNT_RANGE)
    barrier.live = 1
    barrier.pending = count
    barrier.phase = 0
    barrier.missing = 0
    barrier.announced = 0
    barrier.came = 0
    barrier.init_site = site.index
    barrier.tx_site = -1
    barrier.idle_site = -1
    if warp.block.launch.checks & CheckBit.INITCHECK:
        lane_mark(warp.block.shared_words, site.aim_offset, 8, WRITTEN)


@rare
@native
def tell_owner(owner: Ptr[Block], phases: u32) -> void:
    """Another block of the cluster arrived: whoever waits there knows what that block did before."""
    forget_touches(owner)
    owner.epoch += u64(phases)


@native
def mbarrier_operation(
    warp: Ptr[Warp], site: Ptr[Site], mask: u32, operation: i32, addresses: Ptr[u64], amounts: Ptr[u32], out: Ptr[u64]
) -> void:
    """One operation of every active lane, lowest first; `out` gets the state before an arrival."""
    lanes = mask
    while lanes != 0:
        lane = trailing_zeros(lanes)
        lanes &= lanes - 1
        out[lane] = 0
        barrier = mbarrier_at(warp, site, lane, addresses[lane])
        if is_null(barrier):
            continue
        if operation == Operation.INIT:
            begin(warp, site, barrier, lane, amounts[lane])
            continue
        if barrier.live == 0:
            misused(warp, site, barrier, lane, Misuse.NOT_INITIALISED)
            continue
        out[lane] = (u64(barrier.phase) << 32) | u64(barrier.pending)
        phase = barrier.phase
        operate(warp, site, barrier, lane, operation, amounts[lane])
        if is_distant(site, Scope.SHARED, addresses[lane]):
            tell_owner(owner_of(warp, site, addresses[lane]), u32(barrier.phase - phase))


@native
def operate(warp: Ptr[Warp], site: Ptr[Site], barrier: Ptr[MBarrier], lane: u32, operation: i32, amount: u32) -> void:
    if operation == Operation.INVALIDATE:
        barrier.live = 0
        barrier.inval_site = site.index
    elif operation == Operation.ARRIVE:
        arrive_at(warp, site, barrier, lane, amount)
    elif operation == Operation.DROP:
        barrier.expected -= amount
        arrive_at(warp, site, barrier, lane, amount)
    elif operation == Operation.EXPECT:
        announce_bytes(warp, site, barrier, lane, amount)
    elif operation == Operation.COMPLETE:
        complete_bytes(warp, barrier, i64(amount))
    else:
        announce_bytes(warp, site, barrier, lane, amount)
        if operation == Operation.ANNOUNCE_DROP:
            barrier.expected -= 1
        arrive_at(warp, site, barrier, lane, 1)


MBARRIERS = (mbarrier_operation,)
