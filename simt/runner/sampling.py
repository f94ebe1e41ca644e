"""Runs a few blocks of a large grid: what a block does, and where the requests of blocks side by side go.

Two things are sampled. Some blocks, spread over the grid, run to their end for counts. Blocks that would be resident at
the same time run again while their global requests are traced; `simt.model.caches` sends those through the caches.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simt.codegen.plan import Plan
from simt.codegen.runtime import runtime
from simt.engine.block import Outcome
from simt.engine.trace_records import TraceRecord
from simt.events import Argument, Budget
from simt.launch import LaunchConfig
from simt.runner.buffers import bind
from simt.runner.launch import Kernel, launch_state
from simt.runner.states import ThreadState

__all__ = ["MOST_OF_A_BLOCK", "Counted", "Sampler", "Traced"]

MOST_FUEL = 64_000_000  # warp instructions of one block, about a second
RECORD = np.dtype(TraceRecord.structure())
TRACE_RECORDS = 1 << 16  # of blocks' requests of global memory: 18 MB
MOST_OF_A_BLOCK = int(0.9 * TRACE_RECORDS)  # that a trace of one block may take


@dataclass(frozen=True, slots=True)
class Counted:
    """What whole blocks did.

    Attributes:
        blocks: how many ran.
        instructions: of all their warps.
        runs: (n_basic_blocks, 4) int64: runs with all lanes, with some, their lanes, and how often lanes parted.
        sites: (n_sites, 12) int64, as `Site.counts`.
    """

    blocks: int
    instructions: int
    runs: np.ndarray
    sites: np.ndarray


@dataclass(frozen=True, slots=True)
class Traced:
    """Global requests of some blocks, cut short where a block makes many.

    Attributes:
        records: (n,) of `TraceRecord`, as `RECORD`.
        block: (n,) int64, linear index of the block.
        turn: (n,) int64: the how manieth request of its warp.
    """

    records: np.ndarray
    block: np.ndarray
    turn: np.ndarray


class Sampler:
    """One launch of which blocks run one at a time, in any order. Nothing is checked; the arrays are worked in."""

    def __init__(
        self, kernel: Kernel, config: LaunchConfig, shared_bytes: int, arguments: Sequence[Argument],
        constants: dict[str, bytes] | None = None,
    ):  # fmt: skip
        self.kernel = kernel
        kernel.full_address()
        self.memory = bind(
            kernel.plan,
            arguments,
            want_writers=False,
            races=False,
            constants=constants,
            in_place=True,
            workspace=config.cooperative,
        )
        self.launch = launch_state(
            kernel,
            tuple(config.grid),
            tuple(config.block),
            shared_bytes,
            self.memory,
            checks=0,
            budget=Budget(printf_bytes=0),
            trace=TRACE_RECORDS,
            cluster=tuple(config.cluster) if config.cluster else None,
            cooperative=config.cooperative,
        )
        self.launch.record.traces_global = 1
        self.group = self.launch.record.group  # blocks that run together
        self.trace, self.slice = self.launch.record.trace, self.launch.record.slice
        self.state = ThreadState(self.launch, 0)
        self.n_blocks = config.grid.volume
        self._traced: dict[tuple[tuple[int, ...], int, int], Traced] = {}
        addresses = runtime(kernel.cache).addresses
        start_warps = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(addresses["start_warps"])
        for member in self.state.blocks:
            start_warps(ctypes.addressof(member))
        self._run_grid = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(addresses["run_grid"])

    @property
    def plan(self) -> Plan:
        return self.kernel.plan

    @property
    def buffer_bytes(self) -> int:
        """Of all arguments together."""
        return sum(buffer.data.size for buffer in self.memory.buffers if buffer.argument is not None)

    def buffers_of_sites(self) -> list[tuple[int, int]]:
        """Index and bytes of the buffer that each site reached last, (-1, 0) for none."""
        segments = self.memory.segments
        start, size = ctypes.addressof(segments), ctypes.sizeof(segments) // max(len(segments), 1)
        found = []
        for site in self.state.sites[: len(self.plan.site_infos)]:
            index = (site.segment - start) // size if site.segment else -1
            found.append((index, int(segments[index].n_bytes) if index >= 0 else 0))
        return found

    def count(self, at_most: int, fuel: int) -> tuple[Counted, ...]:
        """What whole blocks did, those that run together as one entry: the grid's first and up to `at_most` spread over it.

        The first often does what others leave to it. Fewer run when `fuel` warp instructions would not do for another; ()
        when one does not end within `MOST_FUEL`.
        """
        self.launch.record.trace = None
        self.launch.record.slice = self.slice
        left, found = fuel, []
        for index in dict.fromkeys((0, *_spread(self.n_blocks // self.group, -(-at_most // self.group)))):
            self._clear_counts()
            spent = self._run(index, MOST_FUEL)
            if spent is None:
                return ()
            left -= spent
            found.append(self._counted(spent))
            if left < max(one.instructions for one in found):
                break
        return tuple(found)

    def _counted(self, instructions: int) -> Counted:
        """What the blocks that ran last did."""
        n_sites = len(self.plan.site_infos)
        runs = self.state.block_runs.astype(np.int64).reshape(-1, 4)
        sites = np.array([list(site.counts) for site in self.state.sites[:n_sites]], np.int64).reshape(n_sites, 12)
        return Counted(self.group, instructions, runs, sites)

    def traced(self, blocks: Sequence[int], requests: int, instructions: int) -> Traced:
        """The first global requests of blocks; asked for again, the same ones.

        Args:
            blocks: linear indices.
            requests: of each warp, about.
            instructions: that a warp needs for them, about.
        """
        key = (tuple(blocks), requests, instructions)
        if key not in self._traced:
            self._traced[key] = self._trace(blocks, requests, instructions)
        return self._traced[key]

    def _trace(self, blocks: Sequence[int], requests: int, instructions: int) -> Traced:
        record = self.launch.record
        record.trace = self.trace
        record.slice = min(self.slice, max(instructions, 1))
        budget = record.slice * record.warps_per_block
        kept: list[np.ndarray] = []
        turns: list[np.ndarray] = []
        record.trace_count = 0
        for index in sorted({index // self.group for index in blocks}):
            self._run(index, budget * self.group)
            if record.trace_count > TRACE_RECORDS - MOST_OF_A_BLOCK:
                self._take_requests(requests, kept, turns)
        self._take_requests(requests, kept, turns)
        records = np.concatenate(kept).reshape(-1).view(RECORD)
        return Traced(records, records["block"].astype(np.int64), np.concatenate(turns))

    def _take_requests(self, most: int, kept: list[np.ndarray], turns: list[np.ndarray]) -> None:
        """Appends the traced global requests of whole blocks, as bytes, and their turns in their warps below `most`."""
        record = self.launch.record
        raw = np.frombuffer(memoryview(self.launch.trace).cast("B"), np.uint8)
        raw = raw.reshape(-1, RECORD.itemsize)[: min(record.trace_count, TRACE_RECORDS)]
        record.trace_count = 0
        records = raw.reshape(-1).view(RECORD)
        warp = records["warp"] + records["block"] * record.warps_per_block
        order = np.argsort(warp, kind="stable")
        starts = np.searchsorted(warp[order], warp[order])
        turn = np.empty(len(warp), np.int64)
        turn[order] = np.arange(len(warp)) - starts
        keep = turn < most
        kept.append(raw[keep])
        turns.append(turn[keep])

    def _clear_counts(self) -> None:
        self.state.block_runs[:] = 0
        for site in self.state.sites:
            ctypes.memset(ctypes.addressof(site.counts), 0, ctypes.sizeof(site.counts))

    def _run(self, index: int, fuel: int) -> int | None:
        """Runs one block from its start; the warp instructions it took, or None when it did not end within `fuel`."""
        record, thread = self.launch.record, self.state.thread
        record.next_block, record.last_block, record.stop = index, index + 1, 0
        self.state.block.running = 0
        thread.budget = fuel
        while True:
            code = self._run_grid(self.state.block_address)
            if code == Outcome.NEED_MASKED:
                record.masked_code = self.kernel.masked_address()
            elif code == Outcome.FINISHED or not self.state.block.running:
                return fuel - thread.budget
            elif code != Outcome.PAUSED or thread.budget <= 0 or record.stop:
                return None


def _spread(total: int, at_most: int) -> list[int]:
    """Up to `at_most` indices of `total`, evenly spread."""
    n = min(total, at_most)
    return [int((2 * index + 1) * total // (2 * n)) for index in range(n)]
