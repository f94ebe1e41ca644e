"""Findings as native code records them: one `Finding` per check, site and other site, counted from then on.

The words for people are in `simt.engine.messages`.
"""

from __future__ import annotations

from simt.engine.native import native, rare
from simt.engine.records import Ptr, i32, u32, u64, void
from simt.engine.state import Finding, Warp

__all__ = ["CHECKS", "note", "record"]

CHECKS = (
    "memcheck.global.read-oob",
    "memcheck.global.write-oob",
    "memcheck.shared.read-oob",
    "memcheck.shared.write-oob",
    "memcheck.local.oob",
    "memcheck.misaligned",
    "memcheck.const.oob",
    "memcheck.readonly",
    "memcheck.null",
    "memcheck.atomic-oob",
    "racecheck.shared.RAW",
    "racecheck.shared.WAR",
    "racecheck.shared.WAW",
    "racecheck.shared.store-vs-atomic",
    "racecheck.shared.intra-warp",
    "racecheck.global.RMW",
    "racecheck.global.RW",
    "racecheck.global.WW",
    "racecheck.global.atomic-vs-read",
    "synccheck.divergent",
    "synccheck.exited-threads",
    "synccheck.mask",
    "shuffle.inactive-source",
    "synccheck.barrier-operands",
    "deadlock.barrier",
    "livelock.intra-warp-lock",
    "livelock.spin",
    "initcheck.global",
    "initcheck.shared",
    "initcheck.local",
    "initcheck.register",
    "runtime.trap",
    "runtime.assert",
    "runtime.stack",
    "runtime.division-by-zero",
    "asynccheck.read-before-wait",
    "asynccheck.uncommitted",
    "asynccheck.overwritten",
    "asynccheck.misuse",
    "deadlock.mbarrier-tx",
    "deadlock.mbarrier-arrivals",
    "asynccheck.proxy-fence",
    "asynccheck.wgmma-registers",
    "asynccheck.wgmma-fence",
    "synccheck.warpgroup",
    "synccheck.cluster-barrier",
    "synccheck.cluster-start",
    "synccheck.cluster-exit",
    "deadlock.cluster",
    "synccheck.grid",
)
(
    GLOBAL_READ, GLOBAL_WRITE, SHARED_READ, SHARED_WRITE, LOCAL_OOB, MISALIGNED, CONST_OOB, READONLY, NULL, ATOMIC_OOB,
    SHARED_RAW, SHARED_WAR, SHARED_WAW, STORE_ATOMIC, INTRA_WARP, GLOBAL_RMW, GLOBAL_RW, GLOBAL_WW, ATOMIC_READ,
    DIVERGENT, EXITED_THREADS, SYNC_MASK, INACTIVE_SOURCE, BARRIER_OPERANDS, DEADLOCK_BARRIER, INTRA_WARP_LOCK, LIVELOCK_SPIN,
    INIT_GLOBAL, INIT_SHARED, INIT_LOCAL, INIT_REGISTER, TRAP, ASSERT, STACK, ZERO_DIVISOR,
    READ_IN_FLIGHT, UNCOMMITTED, OVERWRITTEN, MBARRIER_MISUSE, MBARRIER_TX, MBARRIER_ARRIVALS,
    PROXY_FENCE, WGMMA_REGISTERS, WGMMA_FENCE, WARPGROUP,
    CLUSTER_MISUSE, CLUSTER_START, CLUSTER_EXIT, DEADLOCK_CLUSTER, GRID_SYNC,
) = range(len(CHECKS))  # fmt: skip


@rare
@native
def note(warp: Ptr[Warp], check: i32, site: i32, also_site: i32, lanes: u32, address: u64) -> Ptr[Finding]:
    """Adds to the finding of this check at these sites, or makes it; past the cap new ones are dropped: null.

    `lanes` collects the lanes of the warp that was first; `count` counts lanes of all, so it equals their number once.
    """
    thread = warp.thread
    times = max(popcount(lanes), u32(1))
    for index in range(thread.n_findings):
        known = thread.findings + index
        if known.check == check and known.site == site and known.also_site == also_site:
            known.count += times
            if known.block == warp.block.linear and known.warp == warp.index:
                known.lanes |= lanes
            return known
    if thread.n_findings == thread.max_findings:
        return 0
    new: Ptr[Finding] = thread.findings + thread.n_findings
    thread.n_findings += 1
    new.check = check
    new.site = site
    new.also_site = also_site
    new.warp = warp.index
    new.lanes = lanes
    new.count = times
    new.block = warp.block.linear
    new.address = address
    new.low = 0
    new.high = 0
    return new


@native
def record(
    warp: Ptr[Warp], check: i32, site: i32, also_site: i32, lanes: u32, address: u64, low: u64, high: u64
) -> void:
    """As `note`, with two values that a new finding keeps for its message."""
    found = note(warp, check, site, also_site, lanes, address)
    if not is_null(found) and found.count == max(popcount(lanes), u32(1)):
        found.low = low
        found.high = high
