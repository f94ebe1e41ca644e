"""One kernel through its stages: launch of each case, build, PTX policy, runs; findings from every one of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from grader.compile import BuildProblem, compile_text
from grader.devices.base import Device
from grader.model import Case, Compiled, Exercise, LaunchSpec, Verdict
from grader.preparing import launch_findings, prepare_case
from grader.ptx_policy import check_ptx
from grader.running import CaseRun, merged, run_case
from grader.verdicts import verdict_of, worst
from grader.verify import name_launch_faults
from simt.arch import arch as arch_of
from simt.diagnostics import Diagnostic, Severity, diagnose
from simt.events import Budget
from simt.launch import LaunchConfig, check_launch

__all__ = ["Attempt", "Job", "attempt", "target_arch"]


@dataclass(frozen=True, slots=True)
class Job:
    """One kernel to judge: the student's, or one that the exercise gives for a launch to be chosen.

    `is_given` marks the exercise's own text, which no policy has to look at.
    """

    kernel: str
    source: str
    launch: LaunchSpec | None
    label: str = ""
    is_given: bool = False


@dataclass(frozen=True, slots=True)
class Attempt:
    """What one kernel gave: findings outside its runs, its machine code if there is any, and the runs."""

    job: Job
    findings: tuple[Diagnostic, ...]
    compiled: Compiled | None = None
    runs: tuple[CaseRun, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The worst of all."""
        return worst([*map(verdict_of, self.findings), *(run.verdict for run in self.runs)])


def target_arch(exercise: Exercise, device: Device) -> str:
    """The device's architecture, or the newer one that the exercise requires."""
    required = [name for name in exercise.requires if name.startswith("sm_")]
    return max([device.arch, *required], key=lambda name: arch_of(name).capability)


def attempt(
    job: Job, exercise: Exercise, device: Device, cases: Sequence[Case], *, fresh: bool, budget: Budget
) -> Attempt:
    """Builds and runs `job`, unless a finding of an earlier stage forbids it; all findings are kept.

    Args:
        job: the kernel and its launch.
        exercise: its row.
        device: where it runs.
        cases: all of them, hidden ones included.
        fresh: compile a student's text in a jailed process of its own.
        budget: of each case.
    """
    arch = target_arch(exercise, device)
    configs, findings = _configs(job, cases, arch)
    findings = name_launch_faults(exercise, findings)
    built = compile_text(job.source, job.kernel, arch, fresh=fresh and not job.is_given)
    if isinstance(built, BuildProblem):
        return Attempt(job, (*findings, *built.diagnostics))
    findings += built.diagnostics
    if not job.is_given:
        findings += check_ptx(built.ptx, built.kernel, exercise.params, exercise.policy)
    findings += _limits(configs.values(), built, arch)
    if job.launch is None or any(finding.severity is Severity.ERROR for finding in findings):
        return Attempt(job, findings, built)
    return Attempt(job, findings, built, tuple(_runs(device, built, configs, cases, exercise, budget)))


def _configs(job: Job, cases: Sequence[Case], arch: str) -> tuple[dict[str, LaunchConfig], tuple[Diagnostic, ...]]:
    """The launch of each case by name, and what speaks against them."""
    configs: dict[str, LaunchConfig] = {}
    findings: list[Diagnostic] = []
    for case in cases:
        config, found = launch_findings(job.launch, case, arch, job.label) if job.launch else (None, ())
        findings += found
        if config is not None:
            configs[case.name] = config
    return configs, merged([findings])


def _limits(configs: Iterable[LaunchConfig], compiled: Compiled, arch: str) -> tuple[Diagnostic, ...]:
    """Launch limits that depend on the machine code."""
    resources = compiled.resources
    found = [
        check_launch(
            config, arch_of(arch), static_shared_bytes=resources.static_shared_bytes, registers=resources.registers
        )
        for config in configs
    ]
    return tuple(finding for finding in merged(found) if finding.check in ("launch.registers", "launch.shared-limit"))


def _runs(
    device: Device,
    compiled: Compiled,
    configs: Mapping[str, LaunchConfig],
    cases: Sequence[Case],
    exercise: Exercise,
    budget: Budget,
) -> Iterator[CaseRun]:
    """Each case until one makes the others pointless; all together get the time of two, and one second each after it."""
    spent = 0.0
    for case in cases:
        prepared = prepare_case(exercise, case)
        if prepared.memory_bytes > budget.memory_bytes:
            message = f"{prepared.memory_bytes} bytes of buffers, more than the {budget.memory_bytes} of a case"
            finding = diagnose("launch.memory", message)
            yield CaseRun(prepared, configs[case.name], Verdict.LAUNCH_REJECTED, (finding,))
            return
        rest = max(1.0, min(budget.seconds, 2 * budget.seconds - spent))
        run = run_case(device, compiled, configs[case.name], prepared, exercise, replace(budget, seconds=rest))
        spent += run.result.seconds.get("run", 0.0) if run.result else 0.0
        yield run
        if run.is_final:
            return
