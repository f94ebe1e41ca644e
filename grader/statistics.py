"""How a class gets on with each exercise, from its store alone: pass rate, commonest findings, time to pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from statistics import median

from grader.class_file import Unmeasured
from grader.gradebook import Facts, Gradebook
from grader.gradebook_points import held_to

__all__ = ["ExerciseStatistics", "statistics_of"]

MOST_FINDINGS = 5


@dataclass(frozen=True, slots=True)
class ExerciseStatistics:
    """One exercise.

    Attributes:
        students: who is graded on it; `tried` of them handed something in, `passed` of them passed, and of `pending` the
            points for speed are still open.
        mean_share: mean of the points reached, as a share of the points possible.
        verdicts: how many results have each verdict.
        findings: (check, students) of the commonest findings over all hand-ins, at most five.
        median_hand_ins, median_hours_to_pass: of those who passed, from the first hand-in to the one that passed.
    """

    exercise_id: str
    students: int
    tried: int
    passed: int
    pending: int
    mean_share: float
    verdicts: Mapping[str, int]
    findings: tuple[tuple[str, int], ...]
    median_hand_ins: float | None
    median_hours_to_pass: float | None

    @property
    def pass_rate(self) -> float:
        """Share of the students who passed."""
        return self.passed / self.students if self.students else 0.0


def statistics_of(facts: Facts, book: Gradebook) -> list[ExerciseStatistics]:
    """One row for each exercise of the gradebook."""
    return [_of(exercise_id, facts, book) for exercise_id in book.exercises]


def _of(exercise_id: str, facts: Facts, book: Gradebook) -> ExerciseStatistics:
    entries = [entry for row in book.rows for entry in row.entries if entry.exercise_id == exercise_id]
    policy = book.unmeasured_speed
    ways = [way for row in book.rows if (way := _way_to_pass(row.student, exercise_id, facts, policy))]
    shares = [entry.score / entry.max_score for entry in entries if entry.max_score]
    return ExerciseStatistics(
        exercise_id=exercise_id,
        students=len(entries),
        tried=sum(entry.verdict != "missing" for entry in entries),
        passed=sum(entry.is_passed for entry in entries),
        pending=sum(entry.is_pending for entry in entries),
        mean_share=round(sum(shares) / len(shares), 4) if shares else 0.0,
        verdicts=dict(sorted(Counter(entry.verdict for entry in entries).items())),
        findings=_findings(exercise_id, facts),
        median_hand_ins=float(median(count for count, _ in ways)) if ways else None,
        median_hours_to_pass=round(median(hours for _, hours in ways), 2) if ways else None,
    )


def _attempts(student: str, exercise_id: str, facts: Facts) -> list[tuple[datetime, Mapping]]:
    """(when, report) of each of the student's own hand-ins that answered the exercise, oldest first."""
    mine = {one.id: one for one in facts.hand_ins if one.student == student}
    found = [
        (mine[result.hand_in].received, facts.gradings[result.key].report)
        for result in facts.results
        if result.hand_in in mine and result.exercise_id == exercise_id and result.key in facts.gradings
    ]
    return sorted(found, key=lambda attempt: attempt[0])


def _way_to_pass(student: str, exercise_id: str, facts: Facts, policy: Unmeasured) -> tuple[int, float] | None:
    """(hand-ins, hours) until the first one that passed; None for who has not passed."""
    attempts = _attempts(student, exercise_id, facts)
    for number, (when, report) in enumerate(attempts, 1):
        if held_to(report, policy).is_passed:
            return number, (when - attempts[0][0]).total_seconds() / 3600
    return None


def _findings(exercise_id: str, facts: Facts) -> tuple[tuple[str, int], ...]:
    """The checks that found something, by how many students they found it at."""
    owner = {one.id: one.student for one in facts.hand_ins}
    seen = {
        (finding["check"], owner[result.hand_in])
        for result in facts.results
        if result.exercise_id == exercise_id and result.key in facts.gradings
        for finding in facts.gradings[result.key].report["diagnostics"]
    }
    counts = Counter(check for check, _ in seen)
    return tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:MOST_FINDINGS])
