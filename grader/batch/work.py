"""One unit of work, and what does it: the answers of one hand-in, judged by fresh jailed workers, whichever machine it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from grader.hidden import HiddenCases
from grader.model import Submission

__all__ = ["Outcome", "Runner", "Task", "do"]


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
    """What became of a task: (key, report as JSON) for each answer, or why there is none."""

    task: Task
    reports: tuple[tuple[str, Mapping[str, object]], ...] = ()
    worker: str = ""
    lost: str = ""


class Runner(Protocol):
    """Who does tasks: processes of this machine, or a cluster. Each task comes back exactly once, in any order."""

    def outcomes(self, tasks: Sequence[Task]) -> Iterator[Outcome]:
        """One outcome for each task, as they are done."""
        ...


def do(task: Task) -> tuple[tuple[str, dict[str, object]], ...]:
    """(key, report as JSON) for each answer of the task: one jailed compiler and one jailed worker, which end with it."""
    from grader.packs import known_exercises
    from grader.pipeline import grade
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
            report = grade(answer, row, device, fresh=True, hidden=task.hidden)
            done.append((key, to_json(report)))
    return tuple(done)
