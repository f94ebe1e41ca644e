"""Whose fault it is that answers came back without a verdict: their own, or that of the machine that had them.

A task without a verdict is a *suspect*. The *control*, a right answer to an exercise of our own, then has to pass on the
same runner: else the run stops, and nothing is kept about the hand-in. Suspects are tried once more when all others are
done, an answer at a time with nothing else beside it. One that is lost again while the control passes is to blame.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace

from grader.batch.work import GradingStopped, Outcome, Runner, Task, control

__all__ = ["fair_outcomes"]


def fair_outcomes(runner: Runner, tasks: Sequence[Task]) -> Generator[Outcome]:
    """One outcome for each task; an answer that has no report in it is itself the reason, which `lost` says.

    Raises:
        GradingStopped: what grades is at fault.
    """
    suspects = []
    in_a_row = 0
    for outcome in runner.outcomes(tasks):
        if not outcome.lost:
            in_a_row = 0
            yield outcome
            continue
        in_a_row += 1
        if in_a_row == 1:  # a broken machine is not asked again and again
            _need_control(runner, outcome)
        suspects.append(outcome.task)
    for task in suspects:
        yield _alone(runner, task)


def _alone(runner: Runner, task: Task) -> Outcome:
    """The outcome of a suspect, each of its answers by itself."""
    found = [_only(runner, replace(task, answers=(answer,))) for answer in task.answers]
    for outcome in found:
        if outcome.lost:
            _need_control(runner, outcome)
    reports = tuple(report for outcome in found for report in outcome.reports)
    worker = next((outcome.worker for outcome in found if outcome.worker), "")
    return Outcome(task, reports, worker, "; ".join(dict.fromkeys(outcome.lost for outcome in found if outcome.lost)))


def _need_control(runner: Runner, lost: Outcome) -> None:
    """Raises `GradingStopped` where a right answer does not pass, either."""
    found = _only(runner, control(lost.task.packs, lost.task.device))
    why = found.lost or next(
        (f"it is judged {report['verdict']}" for _, report in found.reports if not report["passed"]), ""
    )
    if why:
        where = f" on {found.worker}" if found.worker else ""
        raise GradingStopped(f"the grader fails{where}, also with a right answer of our own: {why}")


def _only(runner: Runner, task: Task) -> Outcome:
    (outcome,) = runner.outcomes([task])
    return outcome
