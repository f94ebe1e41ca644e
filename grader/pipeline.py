"""The main path: submission → compiled → runs → verified → scored → report.

    report = check_submission(submission)                      # the warm worker, as in a notebook
    report = grade(submission, exercise, device, fresh=True)   # a device of the caller's

A student's mistake is a verdict. An exception of ours becomes `internal_error`, which earns nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from grader.compile import BuildProblem, compile_text
from grader.devices.base import CASE_BUDGET, Device
from grader.evidence import evidence_of
from grader.hidden import HiddenCases, load_hidden
from grader.model import (
    Case,
    Compiled,
    Exercise,
    KernelAnswer,
    LaunchAnswer,
    LaunchSpec,
    Report,
    Submission,
    Unreadable,
    ValueAnswer,
    Verdict,
)  # fmt: skip
from grader.policy import scan_source
from grader.preparing import launch_findings, prepare_case
from grader.ptx_policy import check_ptx
from grader.running import CaseRun, merged, run_case
from grader.score import judge_goals, points
from grader.values import grade_values
from grader.verdicts import verdict_of, worst
from simt.arch import arch as arch_of
from simt.diagnostics import Diagnostic, Severity, diagnose
from simt.events import Budget
from simt.launch import LaunchConfig, check_launch

__all__ = ["Job", "cache_key", "check_submission", "grade", "unreadable_report"]

LOG = logging.getLogger(__name__)


def check_submission(submission: Submission | Unreadable, device: Device | str | None = None) -> Report:
    """The report on one answer, by the warm worker of this process.

    Args:
        submission: as `grader.answers.submit` or `grader.notebook.read_notebook` gives it.
        device: a device, the name of one, or None for the best that this machine is set up for.
    """
    from grader.exercises import exercise
    from grader.worker.host import warm_device

    if isinstance(submission, Unreadable):
        return unreadable_report(submission)
    row = exercise(submission.exercise_id)
    if isinstance(row.answer, ValueAnswer):
        return grade(submission, row, None)
    chosen = warm_device(device) if device is None or isinstance(device, str) else device
    return grade(submission, row, chosen)


def unreadable_report(problem: Unreadable, exercise: Exercise | None = None) -> Report:
    """The report on an answer that could not be read: nothing earned, and what to do."""
    if exercise is None:
        from grader.exercises import exercise as find

        exercise = find(problem.exercise_id)
    where = f" ({problem.file})" if problem.file else ""
    return Report(
        exercise_id=problem.exercise_id,
        digest="",
        verdict=Verdict.UNREADABLE,
        score=0.0,
        max_score=points(exercise, Verdict.UNREADABLE, judge_goals(exercise, None, _measured(exercise.cases).sizes))[1],
        message=f"{problem.message}{where}" + (f". {problem.help}" if problem.help else ""),
        when=datetime.now(UTC),
        versions=versions(),
    )


def versions() -> dict[str, str]:
    """What a report was made with."""
    from grader.compile import compiler_version
    from grader.version import VERSION

    return {"warpwise": VERSION, "nvrtc": compiler_version()}


def cache_key(submission: Submission, hidden: HiddenCases) -> str:
    """Equal when the same answer would be judged by the same exercise, seeds and versions."""
    import hashlib

    parts = [submission.digest, hidden.id, *versions().values()]
    return hashlib.sha256("|".join(parts).encode()).hexdigest()


def grade(
    submission: Submission,
    exercise: Exercise,
    device: Device | None,
    *,
    fresh: bool = False,
    hidden: HiddenCases | None = None,
    budget: Budget = CASE_BUDGET,
) -> Report:
    """The report on `submission`.

    Args:
        submission: the answer.
        exercise: its row; need not be registered.
        device: where kernels run; None is enough for a `ValueAnswer`.
        fresh: compile in a jailed process of this submission's own.
        hidden: None reads the file that `WARPWISE_SEEDS` names.
        budget: of each case.
    """
    try:
        if isinstance(exercise.answer, ValueAnswer):
            report = grade_values(submission, exercise)
        else:
            assert device is not None, "a kernel needs a device"
            cases = (load_hidden() if hidden is None else hidden).of(exercise)
            report = _grade_kernels(submission, exercise, device, cases, fresh, budget)
        name = device.name if device else ""
        return replace(report, device=name, versions=versions(), when=datetime.now(UTC))
    except Exception as error:
        LOG.exception("grading %s failed", exercise.id)
        return _internal(submission, exercise, error)


def _internal(submission: Submission, exercise: Exercise, error: Exception) -> Report:
    message = f"the grader failed, not your answer ({type(error).__name__}: {error}); please report it"
    return Report(
        exercise.id, submission.digest, Verdict.INTERNAL_ERROR, 0.0, exercise.points, message=message,
        when=datetime.now(UTC),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Job:
    """One kernel to judge: the student's, or one that the exercise gives for a launch to be chosen."""

    kernel: str
    source: str
    launch: LaunchSpec | None
    label: str = ""


def _jobs(submission: Submission, exercise: Exercise) -> tuple[Job, ...]:
    match exercise.answer:
        case KernelAnswer(kernel=kernel):
            launch = submission.launch
            return (Job(kernel, submission.source, launch if isinstance(launch, LaunchSpec) else None),)
        case LaunchAnswer(kernels=kernels):
            given = submission.launch if isinstance(submission.launch, dict) else {}
            return tuple(Job(name, text, given.get(name), f"{name}, ") for name, text in kernels.items())
    raise TypeError(f"{exercise.id} takes no kernel")


def _measured(cases: Sequence[Case]) -> Case:
    """The case that goals and counters are about: the last one marked so, else the last that is shown."""
    marked = [case for case in cases if case.measured] or [case for case in cases if not case.hidden] or list(cases)
    return marked[-1] if marked else Case("none", {})


def _grade_kernels(
    submission: Submission, exercise: Exercise, device: Device, cases: Sequence[Case], fresh: bool, budget: Budget
) -> Report:
    """The whole path for kernels; every stage adds findings, and the verdict follows from all of them."""
    measured = _measured(cases)
    if lacking := exercise.requires - device.capabilities:
        return _lacking(submission, exercise, device, lacking)
    arch = _arch(exercise, device)
    own_text = isinstance(exercise.answer, KernelAnswer)
    findings: list[Diagnostic] = [*(scan_source(submission.source) if own_text else ()), *submission.problems]
    jobs = _jobs(submission, exercise)
    built: list[Compiled] = []
    runs: list[tuple[Job, CaseRun]] = []
    for job in jobs:
        configs, refused = _configs(job, cases, arch, budget)
        findings += refused
        if any(verdict_of(finding) is Verdict.SOURCE_REJECTED for finding in findings):
            break
        compiled, found = _build(job, exercise, arch, fresh, own_text)
        findings += found
        if compiled is None:
            continue
        built.append(compiled)
        if own_text:
            findings += check_ptx(compiled.ptx, compiled.kernel, exercise.params, exercise.policy)
        findings += _register_findings(configs.values(), compiled, arch)
        if not any(finding.severity is Severity.ERROR for finding in findings):
            runs += [(job, run) for run in _runs(device, compiled, configs, cases, exercise, budget)]
    verdict = worst([*map(verdict_of, findings), *(run.verdict for _, run in runs)])
    if verdict is Verdict.PASS and len(runs) < len(jobs) * len(cases):
        raise RuntimeError(f"{len(runs)} of {len(jobs) * len(cases)} cases ran")
    evidence = evidence_of(exercise, device, measured, built, [run for _, run in runs], budget)
    goals = judge_goals(exercise, evidence if verdict is Verdict.PASS else None, measured.sizes)
    score, most = points(exercise, verdict, goals)
    shown = [run for _, run in runs if run.prepared.case is measured and run.result]
    by_line = shown[0].result.by_line if len(shown) == 1 else {}  # type: ignore[union-attr]
    return Report(
        exercise_id=exercise.id,
        digest=submission.digest,
        verdict=verdict,
        score=score,
        max_score=most,
        cases=tuple(run.shown(job.label) for job, run in runs),
        goals=goals,
        diagnostics=merged([findings, *(run.shown_diagnostics() for _, run in runs)]),
        counters=evidence.counters if evidence else None,
        by_line=by_line,
        resources=built[0].resources if len(built) == 1 else None,
        timing=evidence.timing if evidence and verdict is Verdict.PASS else None,
        message=_skipped(len(runs), len(jobs) * len(cases)),
        printed=_printed(runs),
    )


def _skipped(ran: int, planned: int) -> str:
    return f"{planned - ran} of {planned} cases were not run after this" if 0 < ran < planned else ""


def _printed(runs: Sequence[tuple[Job, CaseRun]]) -> str:
    """What the kernel printed in the first shown case that printed; hidden cases print for nobody."""
    texts = (run.result.printed for _, run in runs if run.result and not run.prepared.case.hidden)
    return next((text for text in texts if text), "")


def _lacking(submission: Submission, exercise: Exercise, device: Device, lacking: frozenset[str]) -> Report:
    names = ", ".join(sorted(lacking))
    return Report(
        exercise.id, submission.digest, Verdict.NOT_SUPPORTED, 0.0, exercise.points,
        message=f"this exercise needs {names}, which the device {device.name} does not have",
    )  # fmt: skip


def _arch(exercise: Exercise, device: Device) -> str:
    """The device's architecture, or the newer one that the exercise requires."""
    required = [name for name in exercise.requires if name.startswith("sm_")]
    return max([device.arch, *required], key=lambda name: arch_of(name).capability)


def _configs(
    job: Job, cases: Sequence[Case], arch: str, budget: Budget
) -> tuple[dict[str, LaunchConfig], list[Diagnostic]]:
    """The launch of each case by name, and what speaks against them."""
    configs: dict[str, LaunchConfig] = {}
    findings: list[Diagnostic] = []
    for case in cases:
        config, found = launch_findings(job.launch, case, arch, budget, job.label) if job.launch else (None, ())
        findings += found
        if config is not None:
            configs[case.name] = config
    return configs, list(merged([findings]))


def _build(
    job: Job, exercise: Exercise, arch: str, fresh: bool, own_text: bool
) -> tuple[Compiled | None, tuple[Diagnostic, ...]]:
    built = compile_text(job.source, job.kernel, arch, fresh=fresh and own_text)
    if isinstance(built, BuildProblem):
        return None, built.diagnostics
    return built, built.diagnostics


def _register_findings(configs, compiled: Compiled, arch: str) -> list[Diagnostic]:
    """Launch limits that depend on the machine code."""
    resources = compiled.resources
    found = [
        check_launch(
            config, arch_of(arch), static_shared_bytes=resources.static_shared_bytes, registers=resources.registers
        )
        for config in configs
    ]
    return [finding for finding in merged(found) if finding.check in ("launch.registers", "launch.shared-limit")]


def _runs(device: Device, compiled: Compiled, configs, cases: Sequence[Case], exercise: Exercise, budget: Budget):
    """Each case until one makes the others pointless."""
    for case in cases:
        prepared = prepare_case(exercise, case)
        if prepared.memory_bytes > budget.memory_bytes:
            message = f"{prepared.memory_bytes} bytes of buffers, more than the {budget.memory_bytes} of a case"
            finding = diagnose("launch.memory", message)
            yield CaseRun(prepared, configs[case.name], Verdict.LAUNCH_REJECTED, (finding,))
            return
        run = run_case(device, compiled, configs[case.name], prepared, exercise, budget)
        yield run
        if run.is_final:
            return
