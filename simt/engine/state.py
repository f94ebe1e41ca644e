"""State of a launch as records that generated code, native helpers and Python share.

One `Launch`, one `Thread` per native thread that runs blocks, one `Block` per resident block, one `Warp` per warp.
Counts live in the thread's own copy of the sites and are summed at the end, so nothing is shared while blocks run.
"""

from __future__ import annotations

import enum

from simt.engine.copy_records import Bulk, Flight, MBarrier
from simt.engine.records import Array, Ptr, Record, i32, i64, u8, u32, u64
from simt.engine.trace_records import StepRecord, TraceRecord

__all__ = [
    "ATOMIC_CODES", "ATOMIC_TYPES", "Access", "Barrier", "Block", "CheckBit", "Exit", "Finding", "Launch", "Scope", "Segment",
    "SegmentFlag", "Site", "SiteFlag", "Thread", "Warp", "WarpStatus",
]  # fmt: skip

LANES = 32
MAX_BARRIERS = 16
CLUSTER_BARRIER = MAX_BARRIERS  # what a warp's `barrier` says while it waits for its cluster
# Of a thread whose functions call themselves. Hardware starts with 1 KiB (CUDA C++ Programming Guide, cudaLimitStackSize) and
# lets the host raise it; frames here are larger than those that ptxas packs.
STACK_BYTES = 16 << 10

# The virtual address space: windows of generic addresses. A pointer is 64 bits everywhere.
GLOBAL_BASE = 0x0000_7F00_0000_0000
SHARED_WINDOW = 0x0000_0100_0000_0000
LOCAL_WINDOW = 0x0000_0200_0000_0000
PARAM_WINDOW = 0x0000_0300_0000_0000
WINDOW_BYTES = 0x0000_0001_0000_0000
# Inside the window of shared memory: from here on an address names the block of the cluster it lies in, rank + 1 in these bits.
RANK_SHIFT = 24
RANK_UNIT = 1 << RANK_SHIFT


class Scope(enum.IntEnum):
    """Where a site reaches; a generic site finds out per request, const and param are segments like global ones."""

    GLOBAL = 0
    SHARED = 1
    LOCAL = 2
    GENERIC = 3
    CONST = 4


class Access(enum.IntEnum):
    LOAD = 0
    STORE = 1
    ATOMIC = 2


class SiteFlag(enum.IntEnum):
    VOLATILE = 1  # volatile, relaxed, acquire, release: no race between such accesses of different warps
    RETURNS = 2  # an atomic whose old value is used
    MERGED = 4  # ptxas merges this shared load into a neighbour's
    RELEASE = 8  # store or atomic with release semantics: orders like a fence before it
    CLUSTER = 16  # of shared::cluster: it may reach another block's shared memory


class CheckBit(enum.IntEnum):
    """Bits of `Launch.checks`."""

    MEMCHECK = 1
    RACE_SHARED = 2
    RACE_GLOBAL = 4
    SYNCCHECK = 8
    INITCHECK = 16
    COVERAGE = 32
    WRITERS = 64
    FLIGHTS = 128  # the kernel copies asynchronously and synccheck looks at it
    PROXIES = 256  # and reads shared memory by the asynchronous proxy


class Exit(enum.IntEnum):
    """Why generated code returned to the scheduler."""

    DONE = 0
    BARRIER = 1
    DIVERGED = 2  # full code: lanes part; masks are in `pending`
    RECONVERGED = 3  # masked code: all 32 lanes stand at block `resume`
    YIELD = 4  # a spin or sleep: let others run
    STOP = 5  # trap or a finding after which nothing can run
    FUEL = 6  # the slice of instructions is used up; resume at `resume`
    STUCK = 7  # masked code: every pending group is parked


class WarpStatus(enum.IntEnum):
    READY = 0
    AT_BARRIER = 1
    DONE = 2


class SegmentFlag(enum.IntEnum):
    WRITABLE = 1
    UNINITIALISED = 2  # starts without a value: initcheck and coverage apply
    INPUT = 4  # unread elements are reported


class Segment(Record):
    """One buffer: virtual bytes [base, base + n_bytes) at host address `host`.

    `words` is the shadow of initcheck and coverage, one byte per 4-byte word: low nibble, which bytes hold a value;
    bit 4, read; bit 5, written. `writers` holds per word the linear thread that wrote last, or is null.
    `races` is racecheck's shadow, its own layout, or null.
    """

    base: u64
    n_bytes: u64
    host: Ptr[u8]
    words: Ptr[u8]
    writers: Ptr[i64]
    races: Ptr[u64]
    flags: i32
    index: i32


class Site(Record):
    """One memory instruction of the program. The first fields are fixed at translation, the rest counts.

    `counts` holds requests, sectors or wavefronts, excess wavefronts and bytes asked for, for global, shared and local.
    """

    scope: i32
    access: i32
    element_bytes: i32
    n_elements: i32  # 1, 2, 4 of a vector access
    flags: i32
    atomic: i32  # code in ATOMIC_CODES
    index: i32
    line: i32
    counts: Array[u64, 12]
    reported: u64  # findings already recorded here, one bit a check
    segment: Ptr[Segment]  # the last one hit
    pattern_mask: u32
    pattern_valid: u32
    pattern_sectors: u64
    pattern_excess: u64
    pattern_low: i64  # least and greatest relative address of the cached pattern
    pattern_high: i64
    pattern_shape: i32  # contiguous, broadcast, other
    pattern_align: i32
    pattern: Array[i64, 32]  # addresses relative to the first active lane's
    # Where the latest request's first active lane reaches, and what its pattern costs by where it starts (0: unknown):
    # sectors by start mod 32, then wavefronts and excess wavefronts by start mod 4.
    aim_offset: u64  # in the buffer, shared memory, or the lane's local memory
    aim_bytes: u64
    aim_words: Ptr[u8]  # shadow of the whole buffer, or null
    pattern_costs: Array[u8, 40]
    atomic_type: i32  # code in ATOMIC_TYPES
    # The pattern's distinct words as runs, see simt.engine.runs. Count: below 0 not looked for yet.
    run_count: i32
    run_first: Array[i64, 32]
    run_words: Array[i32, 32]
    run_lane: Array[i32, 32]
    run_several: Array[i32, 32]
    distant: Array[u64, 2]  # requests that reach another block's shared memory, and the bytes their lanes asked for


class Finding(Record):
    check: i32  # index into simt.engine.findings.CHECKS
    site: i32
    also_site: i32
    warp: i32
    lanes: u32
    count: u32
    block: i64  # linear
    address: u64
    low: u64  # two values for the message, by check
    high: u64


class Barrier(Record):
    arrived: i32  # threads
    expected: i32  # 0 for the whole block
    site: i32  # of the first arrival, -1 when none
    count_true: i32
    waiting: u32  # warps that wait, a bit each
    divergent: i32  # it stands where only some threads come by
    mixed: i32  # warps arrived at different barriers of the text


class Launch(Record):
    grid: Array[u32, 3]
    block: Array[u32, 3]
    cluster: Array[u32, 3]
    threads_per_block: i32
    warps_per_block: i32
    checks: i32
    n_sites: i32
    n_blocks_cfg: i32  # basic blocks of the kernel
    n_segments: i32
    segments: Ptr[Segment]  # sorted by base
    params: Ptr[u8]
    param_bytes: i64
    shared_bytes: i64  # static and dynamic
    static_shared_bytes: i64
    local_bytes: i64  # of one thread
    register_bytes: i64  # of one warp
    slice: i64  # warp instructions of one turn
    spins: i32  # lanes may wait for one another: whoever used up a turn steps back
    spin_site: i32  # the access that a waiting loop repeats, -1 when there is none
    spin_is_lock: i32  # that access is an atomic
    waiting: Ptr[u8]  # per basic block: 1 inside a loop that waits
    undefined_bytes: i64  # leading register bytes: definedness masks, all lanes undefined at the start
    next_block: i64  # next block, or group of blocks, to claim; native threads share it
    last_block: i64
    group: i32  # blocks that one native thread keeps resident together: a cluster, or a cooperative grid
    together: i32  # blocks of a group take turns: there are several, or they use the barrier of a cluster
    cluster_blocks: i32
    explicit_cluster: i32
    cooperative: i32
    workspace: u64  # of a cooperative launch: where the grid's barrier lies, 0 without
    lacks_workspace: i32  # the kernel asks for it in a launch that is not cooperative
    full_code: Ptr[u8]
    masked_code: Ptr[u8]
    stop: i32  # set by whoever ends the launch: 1 finding, 2 budget, 3 trap, 4 wall clock
    trace_limit: i32
    trace: Ptr[TraceRecord]
    trace_count: i64
    traces_global: i32  # requests of global memory alone are kept
    race_epoch: u64
    printf: Ptr[u8]
    printf_bytes: i64
    printf_used: i64
    steps: Ptr[StepRecord]  # of one warp, null unless it is followed
    step_limit: i64
    step_count: i64
    step_block: i64
    step_warp: i32


class Thread(Record):
    launch: Ptr[Launch]
    sites: Ptr[Site]
    block_runs: Ptr[u64]  # per basic block: times run, lanes summed, times the branch at its end diverged
    findings: Ptr[Finding]
    n_findings: i32
    max_findings: i32
    blocks_done: i64
    fuel: i64  # warp instructions left in the slice
    budget: i64  # and left in this call
    issued: u64
    accesses: u64
    clock: u64  # virtual time in warp instructions, advanced by sleeping too
    index: i32
    need_masked: i32
    changes: u64  # atomics that changed memory
    turn: i32  # where the round of a group goes on
    moved: i32  # somebody ran in this round


class Block(Record):
    launch: Ptr[Launch]
    thread: Ptr[Thread]
    warps: Ptr[u8]  # of Warp
    x: u32
    y: u32
    z: u32
    n_warps: i32
    linear: i64
    shared: Ptr[u8]
    shared_words: Ptr[u8]  # initcheck shadow as in Segment.words
    shared_races: Ptr[u64]  # racecheck's shadow
    local: Ptr[u8]  # warps × 32 lanes × local_bytes
    local_words: Ptr[u8]
    epoch: u64  # barriers passed by this block
    live_warps: i32
    running: i32  # started and not yet at its end
    exit_site: i32  # of the latest exit of a thread, for synccheck
    barriers: Array[Barrier, 16]
    # What orders this block's accesses for racecheck besides barriers: see simt.engine.races.
    acquired: u64  # releases of the launch that the block has seen
    fenced: i32  # a fence was passed
    released: i32  # warp + 1 that released last, 0 for none since
    # Asynchronous copies, null in kernels without: per shared word its copy's number, and how many words have one.
    flights: Ptr[u32]
    n_flying: i64
    mbarriers: Ptr[MBarrier]  # one for each 8 bytes of shared memory
    bulks: Ptr[Bulk]  # a ring
    readings: Ptr[u32]  # per 16 bytes of shared memory the product that reads them, null without wgmma
    first_bulk: u32
    next_bulk: u32
    landings: u64  # of bulk loads so far
    proxy: Ptr[u64]  # per shared word: who wrote it by ordinary stores, see `simt.engine.proxies`; or null
    proxy_clock: u64  # proxy fences so far
    proxy_epoch: u64  # epoch of the latest one, counted from the block's start
    proxy_start: u64
    # Reads of shared memory that racecheck looks at when a write comes (`races_log`).
    read_log: Ptr[u8]
    read_log_count: i64
    read_log_epoch: u64
    shared_written: u64  # the latest epoch in which shared memory was written
    progress: u64  # work done outside waiting loops, as of the last round
    idle_rounds: i32  # rounds since it grew
    # Of a group; see `simt.engine.clusters`.
    first: Ptr[Block]  # of its cluster
    rank: i32  # in its cluster
    turn: i32  # the warp at which its round goes on
    met: u32  # in a cluster's first block: how often its barrier opened
    touched_site: i32  # of another block's latest access to its shared memory since they met, -1 for none
    touched_lanes: u32
    touched_by: Ptr[u8]  # the Warp that made it


class Warp(Record):
    block: Ptr[Block]
    thread: Ptr[Thread]
    registers: Ptr[u8]
    pending: Ptr[u32]  # per basic block: lanes that stand before it
    parked: Ptr[u32]  # per basic block: lanes that wait there for others
    index: i32
    status: i32
    resume: i32
    masked: i32
    full: u32  # lanes that exist
    alive: u32  # lanes that have not exited
    barrier: i32  # id of the barrier waited at
    barrier_threads: i32  # its thread count, 0 for the whole block
    barrier_site: i32
    barrier_value: i32  # result of a reducing barrier: threads whose predicate was true
    barrier_expected: i32  # threads that took part
    parked_barrier: i32  # site of a barrier at which some lanes wait for the rest of the warp, or -1
    barrier_mask: u32  # lanes that arrived
    barrier_predicate: u32  # their predicates, for a reducing barrier
    barrier_divergent: i32  # the barrier stands where only some threads come by
    force: i32  # run the lowest parked group although named lanes are missing
    rotate: i32  # masked code: pick another group first, so that lanes which spin cannot starve the others
    sync_epoch: u64  # warp-level synchronisations passed
    tid_x: Array[u32, 32]
    tid_y: Array[u32, 32]
    tid_z: Array[u32, 32]
    # Copies in flight, a ring, and what each lane did about its own.
    flights: Ptr[Flight]
    first_flight: u32
    next_flight: u32
    commits: Array[u32, 32]
    waits: Array[u32, 32]
    waited_commits: Array[u32, 32]  # commits before the latest wait
    waited_left: Array[u32, 32]  # groups that the latest wait left in flight
    bulk_commits: Array[u32, 32]
    bulk_waits: Array[u32, 32]
    bulk_waited_commits: Array[u32, 32]
    bulk_waited_left: Array[u32, 32]
    seen: u64  # landings of the block that it waited for, or heard of at a barrier
    proxy_fence: u64  # number of its latest proxy fence
    awaits: u32  # offset + 1 of the mbarrier it waits at, 0 for none
    awaits_site: i32
    spared: i64  # fuel that a turn cut short by waiting did not use
    # Products of warpgroups; see `simt.engine.wgmma_rules`.
    fences: u32
    product_commits: u32
    products_done: u32  # groups waited for
    products: u32
    product_site: i32  # of the latest
    cluster_arrived: u32  # lanes that arrived at the cluster's barrier, which is not open yet
    cluster_owed: u32  # lanes that arrived and have not waited since
    cluster_site: i32  # of the latest arrival


ATOMIC_CODES = {
    name: code for code, name in enumerate(("add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"))
}
ATOMIC_TYPES = {
    name: code
    for code, name in enumerate(
        ("u32", "s32", "u64", "s64", "b16", "b32", "b64", "f16", "bf16", "f32", "f64", "f16x2", "bf16x2")
    )
}
