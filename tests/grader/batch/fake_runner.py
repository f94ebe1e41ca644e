"""A runner without workers: judges by the text alone, for tests of everything around the judging."""

from __future__ import annotations

from datetime import UTC, datetime

from grader.batch.work import Outcome
from grader.model import Report, Verdict
from grader.pipeline import versions
from grader.report.json_form import to_json
from tests.grader.batch.classes import BODIES

VERDICTS = {
    "right": Verdict.PASS, "no-guard": Verdict.MEMORY_FAULT, "wrong": Verdict.WRONG_ANSWER, "endless": Verdict.TIMEOUT,
    "typo": Verdict.BUILD_FAILED,
}  # fmt: skip


class FakeRunner:
    """Judges each answer once; labels in `lose` come back without a verdict, "control" among them if a test says so."""

    def __init__(self, lose=()):
        self.lose, self.judged, self.controls = lose, [], 0

    def outcomes(self, tasks):
        for task in tasks:
            if task.label in self.lose:
                yield Outcome(task, lost="the grading process ended in the middle, 3 times")
                continue
            if task.label == "control":
                self.controls += 1
                yield Outcome(task, tuple((key, report(answer)) for key, answer in task.answers), "fake")
                continue
            self.judged += [answer.digest for _, answer in task.answers]
            yield Outcome(task, tuple((key, report(answer)) for key, answer in task.answers), "fake")


def report(answer):
    """The report on an answer of `tests.grader.batch.classes`."""
    kind = next(kind for kind, body in BODIES.items() if body.format() in answer.source)
    score = 1.0 if kind == "right" else 0.0
    return to_json(
        Report(
            answer.exercise_id,
            answer.digest,
            VERDICTS[kind],
            score,
            1.0,
            message=kind,
            versions=versions(),
            when=datetime.now(UTC),
        )
    )
