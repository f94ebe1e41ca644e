"""What the goals are judged by: counters of the measured case, the baseline's beside them, resources, timing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grader.attempt import Attempt
from grader.compile import BuildProblem, compile_text
from grader.devices.base import Device
from grader.model import Case, Compiled, Exercise, KernelAnswer, Resources, Role, TimedKernel, Timing, Verdict
from grader.notebook.literals import launch_config, launch_spec
from grader.preparing import ExerciseFault, Prepared
from grader.score import Evidence, needs
from simt.counters import Counters, add
from simt.diagnostics import Diagnostic
from simt.events import Budget, Status

__all__ = ["evidence_of"]


def evidence_of(
    exercise: Exercise,
    device: Device,
    measured: Case,
    tries: Sequence[Attempt],
    budget: Budget,
) -> Evidence | None:
    """The evidence of the measured case's runs, None when it did not run; of several kernels, counters are summed."""
    runs = [run for one in tries for run in one.runs if run.prepared.case is measured]
    results = [run.result for run in runs if run.result is not None]
    built = tries[-1].compiled if tries else None
    if not results or built is None:
        return None
    wanted = _wanted(exercise, device) if all(one.verdict is Verdict.PASS for one in tries) else frozenset()
    baseline = _baseline(exercise, built, measured) if wanted & {"baseline", "timing"} else None
    prepared = runs[-1].prepared
    timing, timing_findings = _timing(exercise, device, baseline, tries[-1]) if "timing" in wanted else (None, ())
    return Evidence(
        counters=add(*(result.counters for result in results)) if "counters" in device.capabilities else None,
        resources=built.resources,
        sizes=measured.sizes,
        config=runs[-1].config,
        arch=built.arch,
        output_elements=_total(exercise, prepared, Role.OUT, "size"),
        output_bytes=_total(exercise, prepared, Role.OUT, "nbytes"),
        input_bytes=_total(exercise, prepared, Role.IN, "nbytes"),
        baseline=_baseline_counters(device, baseline, prepared, budget) if "baseline" in wanted else None,
        timing=timing,
        timing_findings=timing_findings,
        resources_for=lambda arch: _resources_for(exercise, built, arch),
    )


def _wanted(exercise: Exercise, device: Device) -> frozenset[str]:
    """What goals need; where a device can time, a speed-up is shown also where no goal asks for it."""
    shows = exercise.timed is not None and exercise.baseline is not None and "timing" in device.capabilities
    return needs(exercise) | (frozenset({"timing"}) if shows else frozenset())


def _total(exercise: Exercise, prepared: Prepared, role: Role, attribute: str) -> int:
    names = {p.name for p in exercise.params if p.role in (role, Role.INOUT)}
    buffers = [a.value for a in prepared.arguments if a.name in names and isinstance(a.value, np.ndarray)]
    return sum(getattr(buffer, attribute) for buffer in buffers)


def _baseline(exercise: Exercise, student: Compiled, measured: Case) -> TimedKernel | None:
    if exercise.baseline is None or not isinstance(exercise.answer, KernelAnswer):
        raise ExerciseFault(f"{exercise.id} has a goal against a baseline, and no baseline")
    text, launch = exercise.baseline
    compiled = compile_text(text, exercise.answer.kernel, student.arch)
    if isinstance(compiled, BuildProblem):
        raise ExerciseFault(f"the baseline of {exercise.id} does not compile: {compiled.log}")
    return TimedKernel(compiled, launch_config(launch_spec(launch), measured.sizes))


def _baseline_counters(
    device: Device, baseline: TimedKernel | None, prepared: Prepared, budget: Budget
) -> Counters | None:
    if baseline is None or "counters" not in device.capabilities:
        return None
    result = device.run(baseline.compiled, baseline.config, prepared.arguments, budget)
    if result.status is not Status.OK:
        raise ExerciseFault(f"the baseline does not run clean: {[f.message for f in result.diagnostics]}")
    return result.counters


def _timing(
    exercise: Exercise, device: Device, baseline: TimedKernel | None, one: Attempt
) -> tuple[Timing | None, tuple[Diagnostic, ...]]:
    """What `measure` found; its tools load only where something is timed."""
    from grader.measure import measure

    spec = one.job.launch
    if baseline is None or exercise.baseline is None or one.compiled is None or spec is None:
        return None, ()
    arms = (baseline.compiled, launch_spec(exercise.baseline[1])), (one.compiled, spec)
    found = measure(device, exercise, *arms)
    return found.timing, found.findings


def _resources_for(exercise: Exercise, student: Compiled, arch: str) -> Resources | None:
    """Registers and shared memory as the assembler gives them for another architecture."""
    if not isinstance(exercise.answer, KernelAnswer):
        return None
    compiled = compile_text(student.source, exercise.answer.kernel, arch)
    return None if isinstance(compiled, BuildProblem) else compiled.resources
