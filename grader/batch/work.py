"""One unit of work, and what does it: the answers of one hand-in, judged by fresh jailed workers, whichever machine it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from grader.hidden import HiddenCases
from grader.model import Exercise, Report, Submission, Verdict

if TYPE_CHECKING:
    from grader.devices.base import Device

__all__ = ["TRIES", "GradingStopped", "Outcome", "Runner", "Task", "control", "do"]

TRIES = 3  # of what ends in the middle, before a look at who is to blame


class GradingStopped(RuntimeError):
    """Nothing can be graded now, and no hand-in is the reason: a machine, a cluster, a network or a disk failed.

    Nothing is kept about hand-ins without a verdict; earlier verdicts stay.
    """

    help = "mend that and run the same command again: every verdict that was reached is kept, and it goes on from there"


@dataclass(frozen=True, slots=True)
class Task:
    """Answers to judge, with everything that this takes: it travels to another process or machine.

    Attributes:
        label: whose and which file, for messages.
        answers: (key of the verdict, answer).
        packs: folders of exercise packs, readable where the work is done.
        frozen: exercise id → thresholds that hold.
        hidden: hidden cases; workers run where an instructor's processes run.
        device: name of the device.
    """

    label: str
    answers: tuple[tuple[str, Submission], ...]
    packs: tuple[str, ...] = ()
    frozen: Mapping[str, Mapping] = field(default_factory=dict)
    hidden: HiddenCases = field(default_factory=HiddenCases)
    device: str = "simulator"

    @property
    def key(self) -> str:
        """Equal for equal work."""
        return "+".join(key for key, _ in self.answers)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a task: (key, report as JSON) for each answer; `lost` says why answers have none."""

    task: Task
    reports: tuple[tuple[str, Mapping[str, object]], ...] = ()
    worker: str = ""
    lost: str = ""


class Runner(Protocol):
    """Who does tasks: processes of this machine, or a cluster. Each task comes back exactly once, in any order."""

    def outcomes(self, tasks: Sequence[Task]) -> Iterator[Outcome]:
        """One outcome for each task, as they are done."""
        ...


def control(packs: Sequence[str] = (), device: str = "simulator") -> Task:
    """A right answer to `selftest.map`: where it does not pass, no verdict on anybody else's answer is worth anything."""
    from grader.exercises.selftest import MAP
    from grader.thresholds import thresholds_of

    answers = (("control", _right_answer()),)
    return Task("control", answers, tuple(packs), {MAP.id: thresholds_of(MAP)[1]}, device=device)


def _right_answer() -> Submission:
    from grader.answers import submit
    from grader.exercises.selftest import MAP, MAP_LAUNCH, PLAIN_MAP

    answer = submit(MAP, PLAIN_MAP, MAP_LAUNCH)
    assert isinstance(answer, Submission)
    return answer


def do(task: Task) -> tuple[tuple[str, dict[str, object]], ...]:
    """(key, report as JSON) for each answer of the task: one jailed compiler and one jailed worker, which end with it.

    Raises:
        GradingStopped: not even a right answer passes here.
    """
    from grader.packs import known_exercises
    from grader.report.json_form import to_json
    from grader.thresholds import with_thresholds
    from grader.worker.host import fresh_device
    from simt.nvrtc_server import one_submission
    from simt.sandbox import Limits

    rows = {row.id: row for row in known_exercises([Path(folder) for folder in task.packs])}
    done = []
    with fresh_device(task.device) as device, one_submission(Limits()):
        for key, answer in task.answers:
            row = with_thresholds(rows[answer.exercise_id], task.frozen[answer.exercise_id])
            done.append((key, to_json(_judged(answer, row, device, task.hidden))))
    return tuple(done)


def _judged(answer: Submission, row: Exercise, device: Device, hidden: HiddenCases) -> Report:
    """The report on one answer. A failure of ours stands where it comes again and again while a right answer passes."""
    from grader.exercises.selftest import MAP
    from grader.pipeline import grade

    for _ in range(TRIES):
        report = grade(answer, row, device, fresh=True, hidden=hidden)
        if report.verdict is not Verdict.INTERNAL_ERROR:
            return report
    known = grade(_right_answer(), MAP, device, fresh=True, hidden=HiddenCases())
    if known.verdict is not Verdict.PASS:
        why = known.message or "; ".join(finding.message for finding in known.diagnostics[:1])
        raise GradingStopped(f"not even a right answer passes here: {known.verdict}: {why[:400]}")
    return report
