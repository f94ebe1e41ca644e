"""Memory of a native thread: its counts, and the block it runs with all warps."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence

import numpy as np

from simt.codegen.plan import Plan
from simt.engine.bulk_flights import BULKS
from simt.engine.flying import FLIGHTS
from simt.engine.races import READ_LOG_BYTES, SHARED_RACE_WORD_BYTES
from simt.engine.state import (
    Block,
    Bulk,
    CheckBit,
    Finding,
    Flight,
    Launch,
    MBarrier,
    Site,
    Thread,
    Warp,
)
from simt.engine.trace_records import StepRecord, TraceRecord
from simt.runner.buffers import address_of
from simt.runner.host_memory import CACHE_LINE, records, zeroed
from simt.warp_trace import WarpRequest

__all__ = ["LaunchState", "ThreadState"]

MAX_FINDINGS = 512


class LaunchState:
    """The `Launch` record and what it points to."""

    def __init__(
        self, plan: Plan, grid: Sequence[int], block: Sequence[int], shared_bytes: int, checks: int,
        cluster: Sequence[int] | None = None, cooperative: bool = False,
    ):  # fmt: skip
        self.plan = plan
        self.record = Launch.structure()()
        r = self.record
        r.grid[:], r.block[:], r.cluster[:] = tuple(grid), tuple(block), tuple(cluster or (1, 1, 1))
        r.threads_per_block = int(np.prod(block))
        r.warps_per_block = -(-r.threads_per_block // 32)
        r.checks = checks
        r.n_sites, r.n_blocks_cfg = len(plan.site_infos), len(plan.cfg.blocks)
        r.param_bytes, r.local_bytes = plan.param_bytes, plan.local_bytes
        r.shared_bytes, r.static_shared_bytes = shared_bytes, plan.static_shared_bytes
        r.register_bytes, r.undefined_bytes = plan.register_bytes, plan.undefined_bytes
        self.n_blocks = int(np.prod(grid))
        r.cluster_blocks = int(np.prod(r.cluster))
        r.explicit_cluster, r.cooperative = int(cluster is not None), int(cooperative)
        r.group = self.n_blocks if cooperative else r.cluster_blocks
        r.together = int(r.group > 1 or plan.meets_cluster)
        r.lacks_workspace = int(plan.wants_workspace and not cooperative)
        r.next_block, r.last_block = 0, self.n_blocks // r.group

    def set_memory(self, memory, printf_bytes: int, trace: int) -> None:
        r = self.record
        r.segments, r.n_segments, r.workspace = (
            ctypes.addressof(memory.segments),
            len(memory.segments),
            memory.workspace,
        )
        r.params = address_of(memory.params)
        self.printf = zeroed(printf_bytes)
        r.printf, r.printf_bytes, r.printf_used = address_of(self.printf), printf_bytes, 0
        self.trace = records(TraceRecord.structure(), trace)
        r.trace = ctypes.addressof(self.trace) if trace else None
        r.trace_limit, r.trace_count = trace, 0

    def set_steps(self, request: WarpRequest, parts: int) -> None:
        """Makes room for the steps of one warp, `parts` records each."""
        r = self.record
        x, y, z = request.block
        self.steps = records(StepRecord.structure(), request.limit * parts)
        r.steps, r.step_limit, r.step_count = ctypes.addressof(self.steps), request.limit * parts, 0
        r.step_block, r.step_warp = x + r.grid[0] * (y + r.grid[1] * z), request.warp

    def set_waiting(self, blocks: Iterable[int]) -> None:
        """Marks the basic blocks of loops that wait."""
        self.waiting = zeroed(len(self.plan.cfg.blocks))
        self.waiting[list(blocks)] = 1
        self.record.waiting = address_of(self.waiting)

    @property
    def address(self) -> int:
        return ctypes.addressof(self.record)


class ThreadState:
    """One native thread's `Thread` record, and the blocks that it keeps resident together."""

    def __init__(self, launch: LaunchState, index: int):
        self.launch, plan, r = launch, launch.plan, launch.record
        self.sites = records(Site.structure(), len(plan.site_infos))
        for site, info, number in zip(self.sites, plan.site_infos, range(len(plan.site_infos)), strict=False):
            site.scope, site.access = info.scope, info.access
            site.element_bytes, site.n_elements = info.element_bytes, info.n_elements
            site.flags, site.atomic, site.index = info.flags, info.atomic, number
            site.line = info.line or 0
            site.atomic_type = info.atomic_type
        self.block_runs = zeroed(32 * len(plan.cfg.blocks)).view(np.uint64)
        self.findings = records(Finding.structure(), MAX_FINDINGS)
        self.thread = Thread.structure()()
        t = self.thread
        t.launch, t.index = launch.address, index
        t.sites, t.block_runs = ctypes.addressof(self.sites), address_of(self.block_runs)
        t.findings, t.max_findings = ctypes.addressof(self.findings), MAX_FINDINGS
        self.blocks = records(Block.structure(), r.group)
        first = ctypes.addressof(self.blocks)
        self.members = [BlockMemory(launch, self.thread, block, first) for block in self.blocks[: r.group]]

    @property
    def block(self):
        """The first of its blocks."""
        return self.blocks[0]

    @property
    def block_address(self) -> int:
        return ctypes.addressof(self.blocks)


class BlockMemory:
    """What a `Block` record points to: its warps and all memory of them."""

    def __init__(self, launch: LaunchState, thread, block, first: int):
        self.launch, self.thread, self.block = launch, thread, block
        plan, r, b = launch.plan, launch.record, block
        n_warps = r.warps_per_block
        self.warps = records(Warp.structure(), n_warps)
        b.launch, b.thread, b.first = launch.address, ctypes.addressof(thread), first
        b.warps, b.n_warps = ctypes.addressof(self.warps), n_warps
        words = -(-r.shared_bytes // 4) + 16
        self.shared, self.shared_words = zeroed(r.shared_bytes, 16), zeroed(words)
        self.shared_races = zeroed(words * SHARED_RACE_WORD_BYTES) if r.checks & CheckBit.RACE_SHARED else zeroed(0)
        b.shared, b.shared_words = address_of(self.shared), address_of(self.shared_words)
        b.shared_races = address_of(self.shared_races)
        self.read_log = zeroed(READ_LOG_BYTES) if r.checks & CheckBit.RACE_SHARED else zeroed(0)
        b.read_log = address_of(self.read_log)
        local = n_warps * 32 * r.local_bytes
        self.local, self.local_words = zeroed(local), zeroed(n_warps * 32 * (-(-r.local_bytes // 4)) + 64)
        b.local, b.local_words = address_of(self.local), address_of(self.local_words)
        stride = plan.undefined_bytes + plan.register_bytes + CACHE_LINE
        self.registers = zeroed(n_warps * stride)
        n_groups = 2 * (len(plan.cfg.blocks) + 1)
        self.groups = zeroed(4 * n_warps * n_groups).view(np.uint32).reshape(n_warps, 2, -1)
        for index, warp in enumerate(self.warps):
            warp.block, warp.thread = ctypes.addressof(b), ctypes.addressof(self.thread)
            warp.registers = self.registers.ctypes.data + index * stride
            warp.pending, warp.parked = (self.groups[index, part].ctypes.data for part in (0, 1))
            warp.index = index
        if plan.is_asynchronous:
            self._make_flights(n_warps, words)
        if plan.has_warpgroups:
            self.readings = zeroed(words)
            self.block.readings = address_of(self.readings)

    def _make_flights(self, n_warps: int, words: int) -> None:
        """Room for copies in flight, which other kernels do without."""
        self.flights, self.flying = records(Flight.structure(), FLIGHTS * n_warps), zeroed(4 * words)
        self.block.flights = address_of(self.flying)
        self.mbarriers, self.bulks = records(MBarrier.structure(), words // 2 + 1), records(Bulk.structure(), BULKS)
        if self.launch.record.checks & CheckBit.PROXIES:
            self.proxy = zeroed(8 * words)
            self.block.proxy = address_of(self.proxy)
        self.block.mbarriers, self.block.bulks = ctypes.addressof(self.mbarriers), ctypes.addressof(self.bulks)
        for index, warp in enumerate(self.warps):
            warp.flights = ctypes.addressof(self.flights) + index * FLIGHTS * ctypes.sizeof(Flight.structure())
