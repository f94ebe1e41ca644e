"""How much faster than the baseline: rounds of paired launches on a device, verified and judged here.

The device only reads times. Contents are drawn from a seed that it gets for each round; expected outputs, thresholds and
what follows stay in this process.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np

from grader.devices.base import Device, DeviceLost, DeviceMissing
from grader.model import (
    Basis,
    Case,
    Compiled,
    Exercise,
    LaunchSpec,
    Role,
    RunResult,
    TimedKernel,
    Timing,
    TimingPair,
    TimingPlan,
)  # fmt: skip
from grader.notebook.literals import limit_value
from grader.preparing import Prepared, launch_findings, prepare_inputs
from grader.running import lost_finding
from grader.stages import announce
from grader.timing.baselines import baseline_digest, keep_baseline, known_baseline
from grader.timing.calibration import Calibrated, Calibration, load_calibration
from grader.timing.contents import fresh_inputs
from grader.timing.decision import faster_than_physics
from grader.timing.lock import GpuBusy
from grader.timing.plan import schedule
from grader.timing.rounds import Outcome, judge_rounds
from grader.timing.tools import tools_for
from grader.timing.trace import CheckedLaunch, Trace
from grader.verify import call_with, verify
from simt.counters import Counters
from simt.cpus import available_cpus
from simt.diagnostics import Diagnostic
from simt.events import Argument, Direction, LaunchResult, Status

__all__ = ["Measured", "measure", "timed_case", "timed_pair", "verified_round"]

TIMED = "the timed case"


@dataclass(frozen=True, slots=True)
class Measured:
    """A timing, and what speaks against the kernel that was timed; neither where the device cannot time."""

    timing: Timing | None = None
    findings: tuple[Diagnostic, ...] = ()


NOTHING = Measured()


def timed_case(exercise: Exercise) -> Case | None:
    """The case that a GPU times, seeded anew each time; None where the exercise has none."""
    if exercise.timed is None:
        return None
    return Case(TIMED, exercise.timed.sizes, seed=secrets.randbits(62), measured=True)


def measure(
    device: Device,
    exercise: Exercise,
    baseline: tuple[Compiled, LaunchSpec],
    student: tuple[Compiled, LaunchSpec],
) -> Measured:
    """The student's speed-up over `baseline` on `device`, with every checked launch verified.

    Args:
        device: where it is timed.
        exercise: its row; `timed` says on which sizes.
        baseline: machine code and launch as written.
        student: likewise.
    """
    case = timed_case(exercise)
    if case is None or not device.capabilities & {"timing", "estimates"}:
        return NOTHING
    findings = launch_findings(student[1], case, student[0].arch)[1]
    if findings:
        return Measured(None, findings)
    announce("estimating its speed" if "estimates" in device.capabilities else "timing it against the baseline")
    name, is_estimate = device.name, "estimates" in device.capabilities
    rounds = _Rounds(device, exercise, case, baseline, student)
    try:
        return rounds.measured()
    except (GpuBusy, DeviceMissing) as why:
        return Measured(_no_timing(name, case, f"{why}"))
    except DeviceLost as lost:
        if lost.at_start or is_estimate:
            return Measured(_no_timing(name, case, f"{lost}"))
        return Measured(None, (lost_finding(lost, student[0], TIMED),))


def timed_pair(
    exercise: Exercise, case: Case, baseline: tuple[Compiled, LaunchSpec], student: tuple[Compiled, LaunchSpec]
) -> tuple[TimingPair, Prepared]:
    """What a device is given to time, and the inputs behind it."""
    prepared = prepare_inputs(exercise, case)
    arms = []
    for compiled, launch in (baseline, student):
        config, findings = launch_findings(launch, case, compiled.arch)
        assert config is not None and not findings, f"{exercise.id}: {findings}"
        arms.append(TimedKernel(compiled, config))
    kept = exercise.timed.kept if exercise.timed else ()
    fresh = tuple(a.name for a in prepared.arguments if _changes(a) and a.name not in kept)
    return TimingPair(arms[0], arms[1], prepared.arguments, fresh, tools_for(student[0].arch)), prepared


def _changes(argument: Argument) -> bool:
    value = argument.value
    return isinstance(value, np.ndarray) and value.dtype.kind == "f" and argument.direction is not Direction.OUT


def verified_round(exercise: Exercise, pair: TimingPair, prepared: Prepared, trace: Trace) -> tuple[Diagnostic, ...]:
    """Findings about the checked launches of a round; the first wrong launch says enough."""
    steps = schedule(TimingPlan(pairs=trace.student_ns.size, seed=trace.seed))
    with ThreadPoolExecutor(min(len(trace.checked), available_cpus()) or 1) as pool:
        # NumPy lets other threads run while it works on an array.
        found = pool.map(
            lambda launch: _verified(exercise, pair, prepared, launch, steps[launch.sample].nonce), trace.checked
        )
        return next((findings for findings in found if findings), ())


def _verified(
    exercise: Exercise, pair: TimingPair, prepared: Prepared, launch: CheckedLaunch, nonce: int
) -> tuple[Diagnostic, ...]:
    """Findings about one launch, whose inputs are made again here."""
    inputs = fresh_inputs(prepared.inputs, pair.fresh, nonce, launch.copy)
    want = call_with(exercise.reference, inputs, prepared.case.sizes)  # type: ignore[arg-type]
    tolerances = exercise.timed.tolerance if exercise.timed else {}
    held = replace(exercise, tolerance={**exercise.tolerance, **tolerances})
    check = verify(held, _as_result(launch), want, pair.student.config, pair.student.compiled)
    return tuple(replace(finding, message=f"in a timed launch: {finding.message}") for finding in check.diagnostics)


def _as_result(launch: CheckedLaunch) -> RunResult:
    return LaunchResult(Status.OK, dict(launch.outputs), Counters(), {}, (), 1, 1, 0)


@dataclass(slots=True)
class _Rounds:
    """The rounds of one student's kernel."""

    device: Device
    exercise: Exercise
    case: Case
    baseline: tuple[Compiled, LaunchSpec]
    student: tuple[Compiled, LaunchSpec]
    findings: list[Diagnostic] = field(default_factory=list)

    def measured(self) -> Measured:
        """Everything that the rounds say."""
        pair, prepared = timed_pair(self.exercise, self.case, self.baseline, self.student)
        if "estimates" in self.device.capabilities:
            return self._estimated(pair)
        first = self._round(pair, prepared, False)
        if first is None:
            return NOTHING
        calibration = load_calibration(first.device, first.driver)
        known = calibration.of(self.exercise.id, self.case.sizes) if calibration else None
        given: Iterator[Trace] = iter((first,))
        outcome = judge_rounds(
            lambda fresh: next(given, None) or self._trace(pair, prepared, fresh),
            [limit for limit in self._thresholds() if not known or limit not in known.thresholds_off],
            known.baseline_ns if known else None,
        )
        if not outcome.statistics.student_ns:
            return Measured(None, tuple(self.findings))
        return Measured(self._timing(outcome, prepared, calibration, known), tuple(self.findings))

    def _estimated(self, pair: TimingPair) -> Measured:
        """What a device works out instead of measuring; the baseline's part of it once, not for every answer."""
        digest = baseline_digest(pair.baseline, pair.arguments)
        known = known_baseline(digest)
        timing = self.device.time(replace(pair, baseline_ns=known), TimingPlan())
        if not isinstance(timing, Timing):
            return NOTHING
        if known is None:
            keep_baseline(digest, timing.baseline_ns)
        return Measured(replace(timing, sizes=dict(self.case.sizes)))

    def _thresholds(self) -> list[float]:
        goals = [goal for goal in self.exercise.goals if goal.metric == "speedup"]
        return [limit_value(goal.limit, self.case.sizes) for goal in goals]

    def _trace(self, pair: TimingPair, prepared: Prepared, fresh: bool) -> Trace:
        trace = self._round(pair, prepared, fresh)
        assert trace is not None, "a device that measured once measures again"
        return trace

    def _round(self, pair: TimingPair, prepared: Prepared, fresh: bool) -> Trace | None:
        """One round, verified; outputs are let go of."""
        plan = TimingPlan(seed=secrets.randbits(62), fresh_process=fresh)
        trace = self._believed(pair, plan)
        if not isinstance(trace, Trace):
            return None
        found = (*trace.findings, *verified_round(self.exercise, pair, prepared, trace))
        self.findings += [finding for finding in found if finding not in self.findings]
        return replace(trace, checked=(), findings=found)

    def _believed(self, pair: TimingPair, plan: TimingPlan) -> Trace | Timing | None:
        """What the device says of a round; that its process was lost, only when a fresh one was lost as well."""
        try:
            return self.device.time(pair, plan)
        except DeviceLost as lost:
            if lost.at_start:
                raise
        return self.device.time(pair, replace(plan, fresh_process=True))

    def _timing(
        self, outcome: Outcome, prepared: Prepared, calibration: Calibration | None, known: Calibrated | None
    ) -> Timing:
        statistics, trace = outcome.statistics, outcome.traces[-1]
        rate, unit, limit = self._rate(statistics.student_ns, prepared, calibration)
        return Timing(
            ratio=statistics.ratio,
            low=statistics.low,
            high=statistics.high,
            baseline_ns=statistics.baseline_ns,
            student_ns=statistics.student_ns,
            basis=Basis.MEASURED,
            device=trace.device,
            pairs_used=statistics.used,
            pairs_dropped=statistics.dropped,
            throttle=_throttle(outcome),
            sizes=dict(self.case.sizes),
            rounds=len(outcome.traces),
            copies=statistics.copies,
            floor_ns=statistics.floor_ns,
            clock_mhz=statistics.clock_mhz,
            memory_mhz=float(trace.after.memory_mhz or 0),
            rate=rate,
            rate_unit=unit,
            share=rate / limit if limit else None,
            off=known.thresholds_off if known else (),
            borderline=outcome.borderline,
            problem=outcome.problem,
            suspect=faster_than_physics(
                statistics.student_ns, _least_bytes(self.exercise, prepared, trace.l2_bytes), trace.peak_bandwidth
            ),
        )

    def _rate(
        self, student_ns: float, prepared: Prepared, calibration: Calibration | None
    ) -> tuple[float, str, float | None]:
        """What the kernel does a second, its unit, and the most that this device was measured to do."""
        flops = self.exercise.timed.flops if self.exercise.timed else ""
        if flops:
            done = limit_value(flops, self.case.sizes)
            return done / student_ns, "GFLOP/s", calibration.gflops if calibration else None
        moved = _least_bytes(self.exercise, prepared, 0)
        return moved / student_ns, "GB/s", calibration.copy_gbs if calibration else None


def _throttle(outcome: Outcome) -> tuple[str, ...]:
    """Why the clock was low around any round, each reason once."""
    seen = [reason for trace in outcome.traces for around in (trace.before, trace.after) for reason in around.throttle]
    return tuple(dict.fromkeys(seen))


def _least_bytes(exercise: Exercise, prepared: Prepared, l2_bytes: int) -> int:
    """Bytes that any right kernel moves: inputs read, outputs written.

    What was written may still lie in the L2 cache when the kernel ends. An array that is read and written counts once,
    since a kernel need not read what it overwrites.
    """
    sizes = {a.name: a.value.nbytes for a in prepared.arguments if isinstance(a.value, np.ndarray)}
    read = sum(sizes[p.name] for p in exercise.params if p.role is Role.IN)
    written = sum(sizes[p.name] for p in exercise.params if p.role in (Role.OUT, Role.INOUT))
    return read + max(0, written - l2_bytes)


def _no_timing(device: str, case: Case, problem: str) -> Timing:
    """A timing that was not taken."""
    return Timing(0.0, 0.0, 0.0, 0.0, 0.0, Basis.MEASURED, device, sizes=dict(case.sizes), problem=problem)
