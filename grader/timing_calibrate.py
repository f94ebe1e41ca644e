"""Calibration of one GPU: what it reaches at its best, each exercise's baseline, and whether its thresholds hold here.

The margin rule: the tier below a threshold T reaches at most 0.9 T and the reference at least 1.1 T, or T is off on this
GPU. Without the course's solutions there is no reference to hold against it, and thresholds stay as they are.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from grader.compile import BuildProblem, compile_text
from grader.devices.base import Device, DeviceLost
from grader.measure import timed_case, timed_pair, verified_round
from grader.model import Compiled, Exercise, KernelAnswer, LaunchSpec, Submission, TimedKernel, TimingPair, TimingPlan
from grader.notebook import read_notebook
from grader.notebook.literals import launch_spec, limit_value
from grader.timing.calibration import Calibrated, Calibration
from grader.timing.decision import disturbance, too_few
from grader.timing.statistics import Statistics, statistics_of
from grader.timing.tools import tools_for
from grader.timing.trace import Trace
from simt.events import Argument, Direction
from simt.launch import Dim3, LaunchConfig

__all__ = ["LIMIT_KERNELS", "Limits", "Margin", "calibration_of", "device_limits", "margin_of", "margins"]

BELOW, ABOVE = 0.9, 1.1  # of T: the tier below, and the reference
COPY_BYTES = 256 << 20  # four times any L2 cache
FMA_ROUNDS = 4096
CHAINS = 8  # independent multiply-adds in flight a thread: more than the four cycles that one takes
THREADS = 256

LIMIT_KERNELS = f"""
extern "C" __global__ void copy(const float4* x, float4* y, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}}

extern "C" __global__ void multiply_add(const float* x, float* y, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float a = x[i % n], sum[{CHAINS}];
    for (int c = 0; c < {CHAINS}; ++c) sum[c] = c * a;
    for (int round = 0; round < {FMA_ROUNDS}; ++round)
        for (int c = 0; c < {CHAINS}; ++c) sum[c] = fmaf(sum[c], a, 0.25f);
    float total = 0.0f;
    for (int c = 0; c < {CHAINS}; ++c) total += sum[c];
    if (i < n) y[i] = total;
}}
"""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a device reached at its best, and which it is."""

    product: str
    driver: str
    copy_gbs: float
    gflops: float
    floor_ns: float
    clock_mhz: float


@dataclass(frozen=True, slots=True)
class Margin:
    """One exercise on this GPU.

    Attributes:
        exercise_id, sizes: of the timed case.
        baseline_ns: median of one launch; 0 where nothing was timed.
        reference, below: speed-ups of the solution and of the naive answer; None where there is none at hand.
        off: threshold -> why it does not hold here.
        thresholds: every speed-up that a goal asks for.
        note: why nothing was timed, or what was wrong or disturbed it: such a time is not kept.
    """

    exercise_id: str
    sizes: Mapping[str, int] = field(default_factory=dict)
    baseline_ns: float = 0.0
    reference: float | None = None
    below: float | None = None
    thresholds: tuple[float, ...] = ()
    off: Mapping[float, str] = field(default_factory=dict)
    note: str = ""


def device_limits(device: Device, plan: TimingPlan | None = None) -> Limits:
    """Copy bandwidth and multiply-add rate of the device.

    Raises:
        RuntimeError: the device does not time.
    """
    n = COPY_BYTES // 16
    x, y = np.ones(4 * n, np.float32), np.zeros(4 * n, np.float32)
    copied = _limit(device, "copy", LaunchConfig(Dim3(n // THREADS), Dim3(THREADS)), x, y, n, plan)
    few = 1 << 20
    x, y = np.full(few, 0.5, np.float32), np.zeros(few, np.float32)
    computed = _limit(device, "multiply_add", LaunchConfig(Dim3(few // THREADS), Dim3(THREADS)), x, y, few, plan)
    flops = 2.0 * few * CHAINS * FMA_ROUNDS
    statistics = statistics_of([copied])
    return Limits(
        copied.device,
        copied.driver,
        2.0 * COPY_BYTES / statistics.student_ns,
        flops / statistics_of([computed]).student_ns,
        statistics.floor_ns,
        statistics.clock_mhz,
    )


def _limit(
    device: Device, kernel: str, config: LaunchConfig, x: np.ndarray, y: np.ndarray, n: int, plan: TimingPlan | None
) -> Trace:
    arm = TimedKernel(_built(LIMIT_KERNELS, kernel, device), config)
    arguments = (
        Argument("x", Direction.IN, x), Argument("y", Direction.OUT, y), Argument("n", Direction.SCALAR, np.int32(n))
    )  # fmt: skip
    trace = device.time(TimingPair(arm, arm, arguments, (), tools_for(device.arch)), plan or TimingPlan(verified=0))
    if not isinstance(trace, Trace) or not trace.student_ns.size:
        raise RuntimeError(f"{device.name} does not time: {trace.findings if isinstance(trace, Trace) else trace}")
    return trace


def _built(text: str, kernel: str, device: Device) -> Compiled:
    built = compile_text(text, kernel, device.arch)
    if isinstance(built, BuildProblem):
        raise RuntimeError(f"{kernel} does not compile for {device.arch}: {built.log}")
    return built


def margins(device: Device, exercises: Iterable[Exercise], solutions: Path) -> Iterator[Margin]:
    """Each exercise on this device, one after the other as it is measured.

    Args:
        device: one that times.
        exercises: those to measure.
        solutions: the folder with the solved lessons and `naive/`; need not exist.
    """
    for exercise in exercises:
        if not isinstance(exercise.answer, KernelAnswer):
            yield Margin(exercise.id, note="takes no kernel")
        elif exercise.timed is None:
            yield Margin(exercise.id, note="nothing is timed")
        else:
            yield _margin_or_why(device, exercise, solutions)


def _margin_or_why(device: Device, exercise: Exercise, solutions: Path) -> Margin:
    """The margin, or that the device was lost in the middle; the next exercise gets a new process."""
    try:
        return margin_of(device, exercise, solutions)
    except DeviceLost as lost:
        return Margin(exercise.id, note=f"lost the device: {lost}")


def margin_of(device: Device, exercise: Exercise, solutions: Path) -> Margin:
    """The exercise's baseline, reference and naive answer on this device."""
    reference = _solution(exercise, solutions)
    baseline = _baseline(exercise) or reference
    sizes = exercise.timed.sizes if exercise.timed else {}
    limits = tuple(limit_value(goal.limit, sizes) for goal in exercise.goals if goal.metric == "speedup")
    if baseline is None:
        return Margin(exercise.id, sizes, thresholds=limits, note="neither a baseline nor a solution is at hand")
    timed, problem = _timed(device, exercise, baseline, reference or baseline)
    if timed is None:
        return Margin(exercise.id, sizes, thresholds=limits, note=problem)
    ratio = timed.ratio if reference and _baseline(exercise) else None
    naive = solutions / "naive" / f"{exercise.id}.cu"
    below = None
    if naive.exists() and ratio is not None:
        slower, problem = _timed(device, exercise, baseline, (naive.read_text(encoding="utf-8"), baseline[1]))
        below = slower.ratio if slower else None
    off = {limit: why for limit in limits if (why := _off(limit, ratio, below))}
    return Margin(exercise.id, sizes, timed.baseline_ns, ratio, below, limits, off, problem)


def _off(limit: float, reference: float | None, below: float | None) -> str:
    """Why a threshold does not hold here, or ""; what is not known speaks against nothing."""
    if reference is not None and reference < ABOVE * limit:
        return f"the reference reaches {reference:.3g}, and {ABOVE * limit:.3g} would be needed"
    if below is not None and below > BELOW * limit:
        return f"the naive answer reaches {below:.3g}, and {BELOW * limit:.3g} would be the most"
    return ""


Kernel = tuple[str, LaunchSpec]  # text and launch as written


def _baseline(exercise: Exercise) -> Kernel | None:
    return (exercise.baseline[0], launch_spec(exercise.baseline[1])) if exercise.baseline else None


def _solution(exercise: Exercise, solutions: Path) -> Kernel | None:
    path = solutions / f"{exercise.lesson}.py"
    if not path.exists():
        return None
    answer = read_notebook(path).answers.get(exercise.id)
    if not isinstance(answer, Submission) or not isinstance(answer.launch, LaunchSpec):
        return None
    return answer.source, answer.launch


def _timed(device: Device, exercise: Exercise, baseline: Kernel, student: Kernel) -> tuple[Statistics | None, str]:
    """One round, and what was wrong with it."""
    assert isinstance(exercise.answer, KernelAnswer)
    case = timed_case(exercise)
    assert case is not None
    arms = [(_built(text, exercise.answer.kernel, device), launch) for text, launch in (baseline, student)]
    pair, prepared = timed_pair(exercise, case, arms[0], arms[1])
    plan = TimingPlan(seed=secrets.randbits(62))
    trace = device.time(pair, plan)
    if not isinstance(trace, Trace):
        return None, "this device does not time"
    findings = (*trace.findings, *verified_round(exercise, pair, prepared, trace))
    if findings or not trace.student_ns.size:
        return None, findings[0].message
    statistics = statistics_of([trace])
    problem = disturbance([trace], statistics) or too_few(statistics)
    return (None, f"not measurable now: {problem}") if problem else (statistics, "")


def calibration_of(limits: Limits, found: Iterable[Margin]) -> Calibration:
    """What is stored of a calibration."""
    exercises = {
        margin.exercise_id: Calibrated(
            dict(margin.sizes), margin.baseline_ns, margin.reference, margin.below,
            {f"{limit:g}": why for limit, why in margin.off.items()},
        )
        for margin in found
        if margin.baseline_ns
    }  # fmt: skip
    return Calibration(
        limits.product, limits.driver, datetime.now(UTC).date().isoformat(), limits.copy_gbs, limits.gflops, exercises
    )
