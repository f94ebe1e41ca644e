"""Everybody's marks, worked out from what a store holds: which hand-in counts, late shares, groups, marks by hand.

Nothing here is stored, so that a new weight or date needs no grading.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from grader.class_file import ClassFile, Member, Unmeasured
from grader.collecting import Student
from grader.gradebook_points import Speed, held_to
from grader.model import Exercise, ValueAnswer
from grader.stores.records import Grading, Mark, Result, StoredHandIn
from grader.values import most_points

if TYPE_CHECKING:
    from grader.stores.sql_store import SqlStore

__all__ = ["Entry", "Facts", "Gradebook", "Row", "facts_of", "full_points", "make_gradebook"]

MISSING, LOST = "missing", "lost"  # in a verdict's place where there is none


@dataclass(frozen=True, slots=True)
class Entry:
    """One exercise of one student.

    Attributes:
        verdict: of the report; `missing` where nothing was handed in, `lost` where no worker came back.
        score, max_score: points of the class, after weight, lateness and a mark by hand.
        speed: what the points of its speed goals rest on.
        kept_share: 1 in time, less when late, 0 when too late to count.
        is_manual: a person gave the score.
        report: as JSON, None without one.
    """

    exercise_id: str
    verdict: str
    score: float
    max_score: float
    is_passed: bool = False
    speed: Speed = Speed.NONE
    kept_share: float = 1.0
    is_manual: bool = False
    comment: str = ""
    message: str = ""
    file: str = ""
    received: datetime | None = None
    digest: str = ""
    key: str = ""
    report: Mapping[str, object] | None = None

    @property
    def is_pending(self) -> bool:
        """A speed goal still has to be measured, and its points are open."""
        return self.speed is Speed.PENDING


@dataclass(frozen=True, slots=True)
class Row:
    """One student's line."""

    student: str
    name: str
    platform_id: str
    group: str
    member: Member
    entries: tuple[Entry, ...]

    @property
    def score(self) -> float:
        """Sum over the exercises."""
        return round(sum(entry.score for entry in self.entries), 6)

    @property
    def max_score(self) -> float:
        """Sum over the exercises."""
        return round(sum(entry.max_score for entry in self.entries), 6)


@dataclass(frozen=True, slots=True)
class Gradebook:
    """The class: rows by student id, an entry for each of `exercises` in each row; `columns` are the assignments.

    `columns` maps a name to the exercises that are summed under it, `canvas_ids` some of the names to Canvas's numbers.
    """

    name: str
    exercises: tuple[str, ...]
    columns: Mapping[str, tuple[str, ...]]
    rows: tuple[Row, ...]
    unmeasured_speed: Unmeasured = Unmeasured.ESTIMATE
    canvas_ids: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Facts:
    """What a gradebook is made from, as the store gives it."""

    students: Mapping[str, Student]
    hand_ins: Sequence[StoredHandIn]
    results: Sequence[Result]
    gradings: Mapping[str, Grading]
    marks: Sequence[Mark]


def facts_of(store: SqlStore) -> Facts:
    """Everything in the store that marks rest on."""
    results = store.results()
    gradings = store.gradings(result.key for result in results if result.key)
    return Facts(store.students(), store.hand_ins(), results, gradings, store.marks())


def full_points(exercise: Exercise) -> float:
    """Points of an exercise when every goal counts."""
    if isinstance(exercise.answer, ValueAnswer):
        return most_points(exercise)
    return exercise.points + sum(goal.points for goal in exercise.goals)


def make_gradebook(facts: Facts, class_file: ClassFile, rows: Mapping[str, Exercise]) -> Gradebook:
    """The gradebook of a class.

    Args:
        facts: what the store holds.
        class_file: dates, weights, groups; `no_class()` for none.
        rows: exercises with the thresholds that hold.
    """
    answered = {result.exercise_id for result in facts.results}
    exercises = class_file.exercises or tuple(name for name in rows if name in answered)
    book = _Book(facts, class_file, rows, exercises)
    columns = {one.name: one.exercises for one in class_file.assignments} or {name: (name,) for name in exercises}
    rows_of_all = tuple(book.row(student) for student in book.everybody())
    canvas_ids = {one.name: one.canvas_id for one in class_file.assignments if one.canvas_id}
    return Gradebook(class_file.name, exercises, columns, rows_of_all, class_file.unmeasured_speed, canvas_ids)


class _Book:
    """The facts, indexed."""

    def __init__(self, facts: Facts, class_file: ClassFile, rows: Mapping[str, Exercise], exercises: Iterable[str]):
        self._facts, self._class, self._rows, self._exercises = facts, class_file, rows, tuple(exercises)
        self._results = {(result.hand_in, result.exercise_id): result for result in facts.results}
        self._by_hand: dict[tuple[str, str], Mark] = {(mark.student, mark.exercise_id): mark for mark in facts.marks}
        self._group_of = {member: name for name, members in class_file.groups.items() for member in members}
        self._mates: dict[str, list[str]] = {}
        for student in self.everybody():
            if group := self._group(student):
                self._mates.setdefault(group, []).append(student)
        self._hand_ins: dict[str, list[StoredHandIn]] = {}
        for one in facts.hand_ins:
            self._hand_ins.setdefault(one.student, []).append(one)

    def everybody(self) -> list[str]:
        """Ids of all who handed in or stand in class.toml, sorted."""
        return sorted({*self._facts.students, *self._class.students, *self._group_of})

    def _group(self, student: str) -> str:
        found = self._facts.students.get(student)
        return self._group_of.get(student) or (found.team if found else "")

    def row(self, student: str) -> Row:
        """One student's line."""
        member = self._class.students.get(student, Member())
        found = self._facts.students.get(student, Student(student))
        group = self._group(student)
        owners = self._mates.get(group, [student])
        hand_ins = sorted(
            (one for owner in owners for one in self._hand_ins.get(owner, ())),
            key=lambda one: (one.latest, one.received, one.student, one.place),
        )
        entries = tuple(self._entry(student, member, name, hand_ins) for name in self._exercises)
        return Row(student, member.name or found.name, found.platform_id, group, member, entries)

    def _entry(self, student: str, member: Member, exercise_id: str, hand_ins: Sequence[StoredHandIn]) -> Entry:
        """The newest answer counts; a file that lacks the exercise, is no notebook, or came too late leaves an earlier one."""
        found = [(one, result) for one in hand_ins if (result := self._results.get((one.id, exercise_id)))]
        every = [pair for pair in found if not pair[1].is_missing]
        answered = [pair for pair in every if self._is_accepted(exercise_id, member, pair[0])] or every
        most = self._class.weights.get(exercise_id, full_points(self._rows[exercise_id]))
        if not (answered or found):
            reasons = [one.problem for one in hand_ins if one.problem]
            entry = Entry(exercise_id, MISSING, 0.0, most, message=reasons[-1] if reasons else "nothing was handed in")
        else:
            entry = self._judged(exercise_id, most, member, *(answered or found)[-1])
        return self._with_mark(entry, self._by_hand.get((student, exercise_id)))

    def _is_accepted(self, exercise_id: str, member: Member, one: StoredHandIn) -> bool:
        assignment = self._class.assignment_of(exercise_id)
        return assignment is None or assignment.is_accepted(one.received, member.extension_days)

    def _judged(self, exercise_id: str, most: float, member: Member, one: StoredHandIn, result: Result) -> Entry:
        grading = self._facts.gradings.get(result.key)
        if grading is None:
            verdict = MISSING if result.is_missing else LOST
            return Entry(exercise_id, verdict, 0.0, most, message=result.problem, file=one.file, received=one.received)
        report = grading.report
        held = held_to(report, self._class.unmeasured_speed)
        assignment = self._class.assignment_of(exercise_id)
        kept = assignment.kept_share(one.received, member.extension_days) if assignment else 1.0
        return Entry(
            exercise_id, str(report["verdict"]), round(held.share * most * kept, 6), most, held.is_passed, held.speed, kept,
            message=str(report["message"]), file=one.file, received=one.received, digest=grading.answer, key=result.key,
            report=report,
        )  # fmt: skip

    def _with_mark(self, entry: Entry, mark: Mark | None) -> Entry:
        if mark is None:
            return entry
        if mark.score is None:
            return replace(entry, comment=mark.comment)
        speed = Speed.NONE if entry.is_pending else entry.speed  # nothing is open any more
        return replace(entry, score=mark.score, is_manual=True, speed=speed, comment=mark.comment)
