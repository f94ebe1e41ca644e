"""What a kernel asks of its machine: leaving, trapping, sleeping, printing, asserting, the time."""

from __future__ import annotations

from simt.engine.findings import ASSERT, BARRIER_OPERANDS, GRID_SYNC, INIT_REGISTER, STACK, TRAP, ZERO_DIVISOR, record
from simt.engine.native import native
from simt.engine.records import Ptr, Record, i32, i64, u32, u64, void
from simt.engine.segments import local_of
from simt.engine.state import LANES, LOCAL_WINDOW, MAX_BARRIERS, SHARED_WINDOW, Barrier, CheckBit, Warp

__all__ = ["A_STRING", "PRINT_BYTES", "PRINT_HEAD", "SERVICES", "PrintRecord"]

PRINT_BYTES = 256  # argument bytes kept of one printf call; CUDA's own limit is 32 arguments
PRINT_HEAD = 24  # bytes of a `PrintRecord`
A_STRING = -1
PRINT_FUEL = 256  # of one warp's printf: a flood ends at the budget while it is young, 25 million lines are no flood


class PrintRecord(Record):
    """One lane's printf: where its format stood, and a copy of its arguments behind it.

    Or, with the thread `A_STRING`, a copy of a string that such a call names: `text` is its address, `block` the place of
    the call's record. Strings that a block owns are gone or changed when the launch is over.
    """

    block: i64
    thread: i32
    n_bytes: i32
    text: u64


@native
def leave_kernel(warp: Ptr[Warp], site: i32, lanes: u32) -> void:
    """Takes lanes out of the warp for good."""
    if lanes == 0:
        return
    warp.alive = warp.alive & ~lanes
    if site >= 0:
        warp.block.exit_site = site


@native
def barrier_number(warp: Ptr[Warp], site: i32, number: i32, count: i32, lanes: u32) -> i32:
    """A barrier's number, made one of the 16 that there are; says where it is none, or the count is of no whole warps.

    Source: PTX ISA, bar: barriers 0 to 15, a thread count that is a multiple of the warp size.
    """
    if lanes != 0 and (number < 0 or number >= MAX_BARRIERS or count & 31 != 0):
        if warp.block.launch.checks & CheckBit.SYNCCHECK:
            record(warp, BARRIER_OPERANDS, site, -1, lanes, 0, u64(u32(number)), u64(u32(count)))
    return number & (MAX_BARRIERS - 1)


@native
def arrive_only(warp: Ptr[Warp], site: i32, number: i32, count: i32, lanes: u32) -> void:
    """`bar.arrive`."""
    barrier: Ptr[Barrier] = addr(warp.block.barriers) + number
    if barrier.site < 0:
        barrier.site = site
    barrier.arrived += i32(popcount(lanes))
    barrier.expected = count


@native
def trap(warp: Ptr[Warp], site: i32, lanes: u32) -> i32:
    """Ends the launch when any lane traps."""
    if lanes == 0:
        return 0
    check: i32 = TRAP
    if warp.block.launch.lacks_workspace != 0:
        check = GRID_SYNC  # the only way on without the workspace that a cooperative launch gives
    record(warp, check, site, -1, lanes, 0, 0, 0)
    warp.block.launch.stop = 3
    return 1


@native
def stack_overflow(warp: Ptr[Warp], site: i32, lanes: u32) -> i32:
    """Ends the launch when the stack of any lane is full."""
    if lanes == 0:
        return 0
    record(warp, STACK, site, -1, lanes, 0, 0, 0)
    warp.block.launch.stop = 3
    return 1


@native
def virtual_sleep(warp: Ptr[Warp], nanoseconds: i64, lanes: u32) -> void:
    """`nanosleep` on the virtual clock, one warp instruction being a nanosecond; it uses up fuel as work would."""
    if lanes == 0:
        return
    thread = warp.thread
    thread.clock += u64(nanoseconds)
    thread.fuel -= nanoseconds


@native
def virtual_clock(warp: Ptr[Warp]) -> u64:
    """The virtual clock in ticks: it moves with every reading and with fuel used."""
    thread = warp.thread
    thread.clock += 1
    return thread.clock + thread.issued + u64(warp.block.launch.slice - thread.fuel)


@native
def keep_string(warp: Ptr[Warp], lane: u32, call: i64, address: u64) -> void:
    """Keeps up to `PRINT_BYTES` of what stands at an address of the lane's local or the block's shared memory, if it is one."""
    launch = warp.block.launch
    start = local_of(warp, lane)
    offset = address - LOCAL_WINDOW
    n_bytes = launch.local_bytes
    if offset >= u64(n_bytes):
        start = warp.block.shared
        offset = address - SHARED_WINDOW
        n_bytes = launch.shared_bytes
        if offset >= u64(n_bytes):
            return
    size: i64 = PRINT_HEAD + PRINT_BYTES
    place = atomic_add(addr(launch.printf_used), size)
    if place + size > launch.printf_bytes:
        return
    kept = cast(Ptr[PrintRecord], launch.printf + place)
    kept.block = call
    kept.thread = A_STRING
    kept.text = address
    kept.n_bytes = i32(min(i64(PRINT_BYTES), n_bytes - i64(offset)))
    memcpy(launch.printf + place + PRINT_HEAD, start + i64(offset), kept.n_bytes)


@native
def device_printf(warp: Ptr[Warp], lanes: u32, texts: Ptr[u64], values: Ptr[u64]) -> void:
    """Keeps each lane's format address and argument bytes; Python formats them after the launch.

    A call costs fuel whether or not there is room for its text, so that it costs the same in whatever order warps run.
    """
    launch = warp.block.launch
    warp.thread.fuel -= PRINT_FUEL
    if launch.printf_used > launch.printf_bytes:
        return
    size: i64 = PRINT_HEAD + PRINT_BYTES
    for index in range(LANES):
        if (lanes >> u32(index)) & 1 == 0:
            continue
        place = atomic_add(addr(launch.printf_used), size)
        if place + size > launch.printf_bytes:
            continue
        kept = cast(Ptr[PrintRecord], launch.printf + place)
        kept.block = warp.block.linear
        kept.thread = warp.index * 32 + i32(index)
        kept.text = texts[index]
        kept.n_bytes = 0
        offset = values[index] - LOCAL_WINDOW
        if offset < u64(launch.local_bytes):
            kept.n_bytes = i32(min(i64(PRINT_BYTES), launch.local_bytes - i64(offset)))
            arguments = launch.printf + place + PRINT_HEAD
            memcpy(arguments, local_of(warp, u32(index)) + i64(offset), kept.n_bytes)
            for slot in range(kept.n_bytes // 8):
                keep_string(warp, u32(index), place, cast(Ptr[u64], arguments)[slot])
        keep_string(warp, u32(index), place, kept.text)


@native
def undefined_use(warp: Ptr[Warp], site: i32, lanes: u32) -> void:
    """Lanes let a value that nothing ever wrote decide something."""
    if lanes != 0 and warp.block.launch.checks & CheckBit.INITCHECK:
        record(warp, INIT_REGISTER, site, -1, lanes, 0, 0, 0)


@native
def division_by_zero(warp: Ptr[Warp], site: i32, lanes: u32) -> void:
    """Lanes divide an integer by zero."""
    if lanes != 0:
        record(warp, ZERO_DIVISOR, site, -1, lanes, 0, 0, 0)


@native
def device_assert(warp: Ptr[Warp], site: i32, lanes: u32, texts: Ptr[u64]) -> void:
    """A failed device assert; the message's address goes along, the launch ends at its next look."""
    if lanes == 0:
        return
    record(warp, ASSERT, site, -1, lanes, texts[trailing_zeros(lanes)], 0, 0)
    warp.block.launch.stop = 1
    warp.thread.fuel = -1


SERVICES = (
    leave_kernel, barrier_number, arrive_only, trap, stack_overflow, virtual_sleep, virtual_clock, device_printf,
    device_assert, undefined_use, division_by_zero,
)  # fmt: skip
