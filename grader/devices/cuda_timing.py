"""One round of paired cold launches on a GPU: what happens around each launch, and what is read from it.

Before every launch, outside its events: inputs with new contents, poisoned outputs, poisoned shared memory and registers,
another L2 content, and a stamp of the SM clock. All of it is queued ahead, so that the time the host needs lies under the
flush.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import TYPE_CHECKING

import numpy as np

from grader.devices.cuda_memory import GUARD_BYTES, POISON, TO_HOST, Buffers, guard_findings
from grader.model import TimedKernel, TimingPair, TimingPlan
from grader.timing.contents import FLOATS, launch_nonce
from grader.timing.decision import FLOORS
from grader.timing.plan import BASELINE, STUDENT, Step, schedule
from grader.timing.tools import SCRUB_THREADS
from grader.timing.trace import CheckedLaunch, Trace
from simt.arch import arch as arch_of
from simt.diagnostics import Diagnostic
from simt.events import Direction

if TYPE_CHECKING:
    from grader.devices.cuda import Cuda

__all__ = ["PairTimer"]

TOOLS = ("empty", "fill", "scrub", "stamp", "freshen16", "freshen32", "freshen64")  # of grader.timing.tools
MOST_COPIES = 64
MOST_COPY_BYTES = 8 << 30  # of all copies of the buffers together
PILOTS = 5
LENGTHENINGS = 3
ROUND_SECONDS = 15.0  # of the sixty that a worker waits for one
LEAST_PAIRS = 10  # the fewest whose median has an interval of 99.8 %
LONGER = 1.5  # than ten empty launches, so that no sample falls short of them
LEAST_FLUSH_BYTES = 64 << 20
BLOCK = 256  # threads of the kernels that prepare; a grid of eight blocks an SM fills any GPU
BLOCKS_PER_SM = 8


@dataclass(slots=True)
class _Reading:
    """What a round gives: a row for each pair, a column for each arm."""

    times: np.ndarray
    clocks: np.ndarray
    floors: list[float] = field(default_factory=list)
    checked: list[CheckedLaunch] = field(default_factory=list)
    findings: list[Diagnostic] = field(default_factory=list)


class PairTimer:
    """Times one pair on one device.

    Args:
        cuda: the device.
        pair: its kernels, arguments and the compiled tools.
    """

    def __init__(self, cuda: Cuda, pair: TimingPair):
        assert pair.tools is not None, "a timing needs the kernels of grader.timing.tools"
        self._cuda, self._cp, self._pair = cuda, cuda.cp, pair
        tools = cuda.load(pair.tools)
        self._tools = {name: tools.get_function(name) for name in TOOLS}
        self._grid = BLOCKS_PER_SM * cuda.sm_count
        self._events = [cuda.cp.cuda.Event() for _ in range(4)]
        self._stamps = cuda.cp.cuda.alloc(4 * 16)
        self._flush_bytes = max(2 * cuda.l2_bytes, LEAST_FLUSH_BYTES) // 16 * 16
        self._flush_memory = cuda.cp.cuda.alloc(self._flush_bytes)
        self._flushes = 0
        self._shared_bytes = arch_of(cuda.arch).max_shared_bytes_per_block
        cuda.allow_shared(self._tools["scrub"], self._shared_bytes)
        self._copies = [Buffers(cuda.cp, pair.arguments)]
        self._functions = [cuda.function(arm.compiled, arm.config) for arm in self._arms]
        self._starts = [self._direct(index) for index in (BASELINE, STUDENT)]

    @property
    def _arms(self) -> tuple[TimedKernel, TimedKernel]:
        return self._pair.baseline, self._pair.student

    def run(self, plan: TimingPlan) -> Trace:
        """One round. CUDA's own errors are the caller's to catch."""
        plan = self._affordable(plan)
        self._warm_up(plan)
        self._lengthen()
        before = self._cuda.surroundings()
        reading = self._read(schedule(plan))
        copies = len(self._copies)
        return Trace(
            baseline_ns=reading.times[:, BASELINE] / copies,
            student_ns=reading.times[:, STUDENT] / copies,
            baseline_mhz=reading.clocks[:, BASELINE],
            student_mhz=reading.clocks[:, STUDENT],
            floor_ns=np.array(reading.floors),
            device=self._cuda.product,
            driver=self._cuda.driver,
            uuid=self._cuda.uuid,
            l2_bytes=self._cuda.l2_bytes,
            peak_bandwidth=self._cuda.peak_bandwidth,
            copies=copies,
            seed=plan.seed,
            before=before,
            after=self._cuda.surroundings(),
            checked=tuple(reading.checked),
            findings=tuple(reading.findings),
        )

    def close(self) -> None:
        """Gives buffers and kernels back."""
        self._starts.clear()
        self._copies.clear()

    def _read(self, steps: tuple[Step, ...]) -> _Reading:
        reading = _Reading(np.zeros((len(steps), 2)), np.zeros((len(steps), 2)))
        for index, step in enumerate(steps):
            if step.floor:
                reading.floors.append(self._floor())
            for position, arm in enumerate(step.order):
                self._launch(arm, position, step.nonce)
                if arm == STUDENT and step.verified:
                    self._keep(reading, index, step)
            self._cp.cuda.runtime.deviceSynchronize()
            clocks = self._clocks()
            for position, arm in enumerate(step.order):
                reading.times[index, arm] = self._elapsed(position)
                reading.clocks[index, arm] = clocks[2 * position : 2 * position + 2].mean()
        return reading

    # Around a launch.

    def _launch(self, arm: int, position: int, nonce: int) -> None:
        """One launch, cold, between events and stamps."""
        self._prepare(nonce)
        self._stamp(2 * position)
        self._events[2 * position].record()
        self._starts[arm]()
        self._events[2 * position + 1].record()
        self._stamp(2 * position + 1)

    def _prepare(self, nonce: int) -> None:
        """New inputs and poison in every copy, poison in what an SM keeps, then other data in the L2 cache.

        The fill comes last: it uses no shared memory, so that each arm finds the SM divided in the same way.
        """
        for number, buffers in enumerate(self._copies):
            buffers.refresh()
            for index, name in enumerate(self._pair.fresh):
                self._freshen(buffers, name, launch_nonce(nonce, number, index))
        self._scrub()
        self._flush()

    def _scrub(self) -> None:
        """Takes away what a kernel before left in shared memory and registers, such as the baseline's results.

        A block takes all shared memory of an SM, so that the first blocks go one to each; the others are for safety.
        """
        arguments = (np.uint32(self._shared_bytes // 4), np.uint32(POISON))
        self._tools["scrub"]((2 * self._cuda.sm_count,), (SCRUB_THREADS,), arguments, shared_mem=self._shared_bytes)

    def _freshen(self, buffers: Buffers, name: str, nonce: int) -> None:
        row = next(row for row in buffers.rows if row.argument.name == name)
        value = row.argument.value
        assert isinstance(value, np.ndarray)
        if value.dtype.kind == "f" and value.dtype.itemsize in FLOATS and value.size:
            function = self._tools[f"freshen{8 * value.dtype.itemsize}"]
            function((self._grid,), (BLOCK,), (np.uint64(row.address), np.uint64(value.size), np.uint64(nonce)))

    def _flush(self) -> None:
        self._flushes += 1
        arguments = (np.uint64(self._flush_memory.ptr), np.uint64(self._flush_bytes // 16), np.uint64(self._flushes))
        self._tools["fill"]((self._grid,), (BLOCK,), arguments)

    def _stamp(self, slot: int) -> None:
        self._tools["stamp"]((1,), (32,), (np.uint64(self._stamps.ptr + 16 * slot),))

    def _clocks(self) -> np.ndarray:
        """(4,) MHz of the four stamps of a pair."""
        found = np.empty(8, np.uint64)
        self._cp.cuda.runtime.memcpy(found.ctypes.data, self._stamps.ptr, found.nbytes, TO_HOST)
        cycles, nanoseconds = found.reshape(4, 2).astype(np.float64).T
        return cycles / np.maximum(nanoseconds, 1.0) * 1e3

    def _elapsed(self, position: int) -> float:
        """Nanoseconds between the events of the first or second launch; never 0, whose logarithm there is not."""
        start, stop = self._events[2 * position : 2 * position + 2]
        return max(self._cp.cuda.get_elapsed_time(start, stop) * 1e6, 1.0)

    def _floor(self) -> float:
        """Nanoseconds of an empty kernel, cold as well."""
        self._flush()
        self._stamp(0)
        self._events[0].record()
        self._tools["empty"]((1,), (32,), ())
        self._events[1].record()
        self._cp.cuda.runtime.deviceSynchronize()
        return self._elapsed(0)

    def _keep(self, reading: _Reading, index: int, step: Step) -> None:
        """Copies the outputs of the launch that is in flight, of one of its copies."""
        self._cp.cuda.runtime.deviceSynchronize()
        copy = step.nonce % len(self._copies)
        outputs = {}
        for row in self._copies[copy].rows:
            found = self._copies[copy].read(row)
            reading.findings += guard_findings(row, found)
            if row.argument.direction is not Direction.IN:
                outputs[row.argument.name] = row.data(found).copy()
        reading.checked.append(CheckedLaunch(index, copy, outputs))

    # Before the round.

    def _affordable(self, plan: TimingPlan) -> TimingPlan:
        """The plan with fewer pairs where a pair takes so long that all of them would not fit into a round.

        Such a kernel is far slower than any baseline, and ten pairs say so with the same confidence.
        """
        seconds = min(self._seconds_of_a_sample() for _ in range(2))
        fitting = int(ROUND_SECONDS / max(seconds, 1e-6)) - plan.warm_up - PILOTS
        return replace(plan, pairs=max(min(plan.pairs, fitting), min(plan.pairs, LEAST_PAIRS)))

    def _seconds_of_a_sample(self) -> float:
        start = monotonic()
        self._sample_unmeasured(0)
        return monotonic() - start

    def _warm_up(self, plan: TimingPlan) -> None:
        """At least `warm_up` launches of each and `warm_up_ms` of mixed work: code, caches and clocks come up."""
        start = monotonic()
        for count in _counting():
            if count >= plan.warm_up and (monotonic() - start) * 1e3 >= plan.warm_up_ms:
                return
            self._sample_unmeasured(count)

    def _lengthen(self) -> None:
        """Where a launch is short beside an empty one, a sample becomes a graph of several over buffers of their own.

        In a graph a launch costs less than alone, so that the first number of copies may still be too small.
        """
        each = 2 * sum(row.image.nbytes for row in self._copies[0].rows)
        most = max(1, min(MOST_COPIES, MOST_COPY_BYTES // max(each, 2 * GUARD_BYTES)))
        for _ in range(LENGTHENINGS):
            floor, shortest = self._pilots()
            count = len(self._copies)
            if shortest >= FLOORS * floor or count == most:
                return
            count = min(most, math.ceil(LONGER * count * FLOORS * floor / shortest))
            self._copies += [Buffers(self._cp, self._pair.arguments) for _ in range(count - len(self._copies))]
            self._starts = [self._graph(index) for index in (BASELINE, STUDENT)]
            self._sample_unmeasured(0)

    def _pilots(self) -> tuple[float, float]:
        """Medians of an empty launch and of the shorter arm's samples."""
        times = np.zeros((PILOTS, 2))
        for row in times:
            self._sample_unmeasured(0)
            row[:] = self._elapsed(0), self._elapsed(1)
        floor = float(np.median([self._floor() for _ in range(PILOTS)]))
        return floor, float(np.median(times, axis=0).min())

    def _sample_unmeasured(self, nonce: int) -> None:
        """Both arms, one after the other; which comes first follows from the nonce."""
        for position in range(2):
            self._launch((position + nonce) % 2, position, nonce)
        self._cp.cuda.runtime.deviceSynchronize()

    def _direct(self, arm: int) -> Callable[[], None]:
        function, config = self._functions[arm], self._arms[arm].config
        values = self._copies[0].values
        return lambda: self._cuda.start(function, config, values)

    def _graph(self, arm: int) -> Callable[[], None]:
        """One launch for each copy of the buffers, started as a whole."""
        function, config = self._functions[arm], self._arms[arm].config
        stream = self._cp.cuda.Stream(non_blocking=True)
        with stream:
            stream.begin_capture()
            for buffers in self._copies:
                self._cuda.start(function, config, buffers.values)
            graph = stream.end_capture()
        null = self._cp.cuda.Stream.null
        return lambda: graph.launch(null)


def _counting() -> Iterator[int]:
    count = 0
    while True:
        yield count
        count += 1
