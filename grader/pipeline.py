"""The main path: submission → compiled → runs → verified → scored → report.

    report = check_submission(submission)                      # the warm worker, as in a notebook
    report = grade(submission, exercise, device, fresh=True)   # a device of the caller's

A student's mistake is a verdict. An exception of ours becomes `internal_error`, which earns nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from grader.attempt import Attempt, Job, attempt
from grader.devices.base import CASE_BUDGET, Device
from grader.evidence import evidence_of
from grader.hidden import HiddenCases, load_hidden
from grader.model import (
    Case,
    Exercise,
    KernelAnswer,
    LaunchAnswer,
    LaunchSpec,
    Report,
    Submission,
    Unreadable,
    ValueAnswer,
    Verdict,
)
from grader.policy import scan_source
from grader.running import WEIGHT, merged
from grader.score import Evidence, judge_goals, points
from grader.values import grade_values
from grader.verdicts import verdict_of, worst
from simt.counters import Counters
from simt.diagnostics import Diagnostic, Severity
from simt.events import Budget

__all__ = ["cache_key", "check_submission", "grade", "unreadable_report", "versions"]

LOG = logging.getLogger(__name__)


def check_submission(
    submission: Submission | Unreadable, device: Device | str | None = None, *, fresh: bool = False
) -> Report:
    """The report on one answer, by the warm worker of this process.

    Args:
        submission: as `grader.answers.submit` or `grader.notebook.read_notebook` gives it.
        device: a device, the name of one, or None for the best that this machine is set up for.
        fresh: compile in a jailed process of this submission's own.
    """
    from grader.exercises import exercise
    from grader.worker.host import warm_device

    if isinstance(submission, Unreadable):
        return unreadable_report(submission)
    row = exercise(submission.exercise_id)
    if isinstance(row.answer, ValueAnswer):
        return grade(submission, row, None)
    chosen = warm_device(device) if device is None or isinstance(device, str) else device
    return grade(submission, row, chosen, fresh=fresh)


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

    return {"grader": VERSION, "simt": VERSION, "nvrtc": compiler_version()}


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
    first_line = str(error).partition("\n")[0][:300]
    message = f"the grader failed, not your answer ({type(error).__name__}: {first_line}); please report it"
    return Report(
        exercise.id, submission.digest, Verdict.INTERNAL_ERROR, 0.0, exercise.points, message=message,
        when=datetime.now(UTC),
    )  # fmt: skip


def _jobs(submission: Submission, exercise: Exercise) -> tuple[Job, ...]:
    match exercise.answer:
        case KernelAnswer(kernel=kernel):
            launch = submission.launch
            return (Job(kernel, submission.source, launch if isinstance(launch, LaunchSpec) else None),)
        case LaunchAnswer(kernels=kernels):
            given = submission.launch if isinstance(submission.launch, dict) else {}
            return tuple(Job(name, text, given.get(name), f"{name}: ", True) for name, text in kernels.items())
    raise TypeError(f"{exercise.id} takes no kernel")


def _measured(cases: Sequence[Case]) -> Case:
    """The case that goals and counters are about: the last one marked so, else the last that is shown."""
    marked = [case for case in cases if case.measured] or [case for case in cases if not case.hidden] or list(cases)
    return marked[-1] if marked else Case("none", {})


def _grade_kernels(
    submission: Submission, exercise: Exercise, device: Device, cases: Sequence[Case], fresh: bool, budget: Budget
) -> Report:
    """The whole path for kernels; every stage adds findings, and the verdict follows from all of them."""
    if lacking := exercise.requires - device.capabilities:
        return _lacking(submission, exercise, device, lacking)
    jobs = _jobs(submission, exercise)
    text_findings = scan_source(submission.source)
    # A text that must not reach the compiler is judged by itself alone.
    tries = () if text_findings else [attempt(job, exercise, device, cases, fresh=fresh, budget=budget) for job in jobs]
    findings = (*text_findings, *submission.problems)
    verdict = worst([*map(verdict_of, findings), *(one.verdict for one in tries)])
    planned, ran = len(jobs) * len(cases), sum(len(one.runs) for one in tries)
    if verdict is Verdict.PASS and ran < planned:
        raise RuntimeError(f"{ran} of {planned} cases ran")
    evidence = evidence_of(exercise, device, _measured(cases), tries, budget)
    if evidence and evidence.timing_findings:
        findings = (*findings, *evidence.timing_findings)
        verdict = worst([verdict, *map(verdict_of, evidence.timing_findings)])
    report = _report(exercise, verdict, findings, tries, evidence, _measured(cases))
    skipped = f"{planned - ran} of {planned} cases were not run after this" if 0 < ran < planned else ""
    return replace(report, digest=submission.digest, message=skipped)


def _report(
    exercise: Exercise,
    verdict: Verdict,
    findings: tuple[Diagnostic, ...],
    tries: Sequence[Attempt],
    evidence: Evidence | None,
    measured: Case,
) -> Report:
    goals = judge_goals(exercise, evidence if verdict is Verdict.PASS else None, measured.sizes)
    score, most = points(exercise, verdict, goals)
    only = tries[0] if len(tries) == 1 else None
    found = merged([findings, *(one.findings for one in tries)])
    shown = [finding for one in tries for finding in _shown_findings(one)]
    return Report(
        exercise_id=exercise.id,
        digest="",
        verdict=verdict,
        score=score,
        max_score=most,
        cases=tuple(run.shown(one.job.label) for one in tries for run in one.runs),
        goals=goals,
        diagnostics=tuple(sorted([*found, *shown], key=lambda finding: WEIGHT[Severity(finding.severity)])),
        counters=evidence.counters if evidence else None,
        by_line=_by_line(only, measured) if only else {},
        resources=only.compiled.resources if only and only.compiled else None,
        timing=evidence.timing if evidence and verdict is Verdict.PASS else None,
        printed=_printed(tries),
    )


def _shown_findings(one: Attempt) -> list[Diagnostic]:
    """The findings of one kernel's runs, each saying which of several kernels it is about."""
    merged_runs = merged(run.shown_diagnostics() for run in one.runs)
    return [replace(finding, message=one.job.label + finding.message) for finding in merged_runs]


def _by_line(one: Attempt, measured: Case) -> Mapping[int, Counters]:
    """Counters of the measured case by line of the one text that was judged."""
    found = [run.result.by_line for run in one.runs if run.prepared.case is measured and run.result]
    return found[0] if found else {}


def _printed(tries: Sequence[Attempt]) -> str:
    """What a kernel printed in the first shown case that printed; hidden cases print for nobody."""
    runs = (run for one in tries for run in one.runs)
    texts = (run.result.printed for run in runs if run.result and not run.prepared.case.hidden)
    return next((text for text in texts if text), "")


def _lacking(submission: Submission, exercise: Exercise, device: Device, lacking: frozenset[str]) -> Report:
    names = ", ".join(sorted(lacking))
    return Report(
        exercise.id, submission.digest, Verdict.NOT_SUPPORTED, 0.0, exercise.points,
        message=f"this exercise needs {names}, which the device {device.name} does not have",
    )  # fmt: skip
