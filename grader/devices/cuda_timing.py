"""One round of paired cold launches on a GPU: what happens around each launch, and what is read from it.

Before every launch, outside its events: inputs with new contents, poisoned outputs, poisoned shared memory and registers,
another L2 content, and a stamp of the SM clock. All of it is queued ahead, so that the time the host needs lies under the
flush.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from time import monotonic, process_time
from typing import TYPE_CHECKING

import numpy as np

from grader.devices.cuda_memory import GUARD_BYTES, POISON, TO_HOST, Buffers, guard_findings
from grader.model import TimedKernel, TimingPair, TimingPlan
from grader.timing.contents import FLOATS, launch_nonce
from grader.timing.decision import FAR_APART, FLOORS, LEAST_PAIRS
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
COPIES_SECONDS = 0.5  # that a sample of copies may take; one of the shortest kernels takes a few thousandths
LENGTHENINGS = 3
ROUND_SECONDS = 15.0  # that the pairs of a round may take, where ten do not take longer
LAST_SECONDS = 30.0  # after which no sample begins; the parent waits twice as long, so that a launch has as much again
SLOW_SECONDS = 1.5  # of a sample: what ten pairs, the warm-up and the first samples fit into `LAST_SECONDS` with
SLOW_PAIRS = 3  # of such a kernel, where it is far slower than the baseline
PRINTING_SECONDS = 0.25  # of the processor in a sample, far more than preparing one takes: somebody prints
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
        self._until = monotonic() + LAST_SECONDS
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
        """The samples for which there is time, one at least; the last of them is verified whatever the plan says."""
        reading = _Reading(np.zeros((len(steps), 2)), np.zeros((len(steps), 2)))
        some, slowest = any(step.verified for step in steps), self._seconds
        for index, step in enumerate(steps):
            is_last = index + 1 == len(steps) or monotonic() + slowest > self._until
            if step.floor:
                reading.floors.append(self._floor())
            slowest = max(slowest, self._sample(reading, index, step, step.verified or (some and is_last)))
            if is_last:
                reading.times, reading.clocks = reading.times[: index + 1], reading.clocks[: index + 1]
                break
        return reading

    def _sample(self, reading: _Reading, index: int, step: Step, verified: bool) -> float:
        """One pair, and the seconds that both launches took until all that they printed was written."""
        begun, keeping = _now(), np.zeros(2)
        for position, arm in enumerate(step.order):
            self._launch(arm, position, step.nonce)
            if arm == STUDENT and verified:
                self._cp.cuda.runtime.deviceSynchronize()
                paused = _now()
                self._keep(reading, index, step)
                keeping += _now() - paused
        self._cp.cuda.runtime.deviceSynchronize()
        seconds, busy = _now() - begun - keeping
        clocks = self._clocks()
        for position, arm in enumerate(step.order):
            reading.times[index, arm] = self._elapsed(position)
            reading.clocks[index, arm] = clocks[2 * position : 2 * position + 2].mean()
        reading.times[index, STUDENT] += _printing_ns(busy, reading.times[index].sum())
        return seconds

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
        """Copies the outputs of the launch that has just ended, of one of its copies."""
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
        """The plan with fewer pairs where all of them would not fit into a round, or where fewer say the same.

        A kernel that is far slower than the baseline gets as few as have an interval. One of which not even these fit
        gets a few without any warm-up, of which each works for longer than a warm-up would; so does a baseline.
        """
        seconds, baseline_ns, student_ns = self._first_sample()
        if seconds < LAST_SECONDS / 3:
            seconds, baseline_ns, student_ns = min((seconds, baseline_ns, student_ns), self._first_sample())
        self._seconds = seconds
        is_far = student_ns > FAR_APART * baseline_ns
        if seconds > SLOW_SECONDS:
            return replace(
                plan, pairs=min(plan.pairs, SLOW_PAIRS if is_far else LEAST_PAIRS), warm_up=0, warm_up_ms=0.0
            )
        fitting = int(ROUND_SECONDS / max(seconds, 1e-6)) - plan.warm_up - PILOTS
        most = min(plan.pairs, LEAST_PAIRS if is_far else plan.pairs)
        return replace(plan, pairs=max(min(most, fitting), min(plan.pairs, LEAST_PAIRS)))

    def _first_sample(self) -> tuple[float, float, float]:
        """Seconds of an unmeasured sample, and nanoseconds of the baseline and the student in it."""
        begun = _now()
        self._sample_unmeasured(0)
        seconds, busy = _now() - begun
        baseline_ns, student_ns = self._elapsed(BASELINE), self._elapsed(STUDENT)
        return seconds, baseline_ns, student_ns + _printing_ns(busy, baseline_ns + student_ns)

    def _warm_up(self, plan: TimingPlan) -> None:
        """At least `warm_up` launches of each and `warm_up_ms` of mixed work: code, caches and clocks come up."""
        start = monotonic()
        for count in _counting():
            now = monotonic()
            if now > self._until or (count >= plan.warm_up and (now - start) * 1e3 >= plan.warm_up_ms):
                return
            self._sample_unmeasured(count)

    def _lengthen(self) -> None:
        """Where a launch is short beside an empty one, a sample becomes a graph of several over buffers of their own.

        In a graph a launch costs less than alone, so that the first number of copies may still be too small.
        """
        each = 2 * sum(row.image.nbytes for row in self._copies[0].rows)
        most = min(
            MOST_COPIES, MOST_COPY_BYTES // max(each, 2 * GUARD_BYTES), int(COPIES_SECONDS / max(self._seconds, 1e-6))
        )
        if most <= 1:
            return
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


def _now() -> np.ndarray:
    """(2,) seconds: of the clock, and of the processor in this process."""
    return np.array([monotonic(), process_time()])


def _printing_ns(busy: float, kernels_ns: float) -> float:
    """Nanoseconds that writing a sample's printed text took; 0 where that was not most of it.

    Events end with a kernel; only then the driver writes what it printed. The baseline prints nothing. Seconds of the
    processor say so, which a busy machine does not lengthen; while a kernel runs the driver may use it for waiting.

    Args:
        busy: seconds of the processor in the sample.
        kernels_ns: of both kernels.
    """
    beyond = 1e9 * busy - kernels_ns
    return beyond if busy > PRINTING_SECONDS and beyond > kernels_ns else 0.0


def _counting() -> Iterator[int]:
    count = 0
    while True:
        yield count
        count += 1
