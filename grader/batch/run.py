"""A grading run: keep what came, see what has no verdict yet, have it judged, keep each verdict as it comes.

Everything is kept in transactions that may be repeated, so a run that is killed at any point is taken up by the next.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from grader.batch.course import Course
from grader.batch.reading import Reading, read_hand_in, submissions_in
from grader.batch.suspects import fair_outcomes
from grader.batch.work import GradingStopped, Outcome, Runner, Task
from grader.collecting import Collected, HandIn
from grader.model import Report, Submission, Unreadable, Verdict
from grader.pipeline import unreadable_report
from grader.report.json_form import to_json
from grader.stores import Grading, Result, StoredHandIn
from grader.stores.sql_store import SqlStore

__all__ = ["Plan", "Work", "carry_out", "is_final", "make_plan"]

OURS = (Verdict.INTERNAL_ERROR, Verdict.NOT_SUPPORTED)  # not about the answer, so the next run tries again
UNGRADED = "handed in, but not graded yet: run `grade` again"  # seen where a run did not come to its end


@dataclass(slots=True)
class Work:
    """Verdicts that one hand-in lacks, and everybody's results that wait for them."""

    task: Task
    waiting: list[Result] = field(default_factory=list)


@dataclass(slots=True)
class Plan:
    """What a run has to do.

    Attributes:
        hand_ins: what it is about.
        readings: hand-in's id → what was read in it.
        works: what has to be judged.
        n_known: results whose verdict was there already.
    """

    hand_ins: list[StoredHandIn]
    readings: dict[int, Reading]
    works: list[Work] = field(default_factory=list)
    n_known: int = 0


def make_plan(store: SqlStore, collected: Collected, course: Course) -> Plan:
    """Keeps the hand-ins, reads the new ones, keeps the results whose verdict is known, and plans the others."""
    store.save_class(course.class_file.text, str(course.class_file.folder), datetime.now(UTC))
    store.add_hand_ins(collected.students.values(), collected.hand_ins)
    here = {(one.student, one.file, one.digest): one for one in collected.hand_ins}
    stored = [one for one in store.hand_ins() if (one.student, one.file, one.digest) in here]
    readings, parsed = _read(store, stored, here, course)
    plan = Plan(stored, readings)
    known = _Known(course, store.final_keys())
    for one in stored:
        if lacking := known.take(one, readings[one.id]):
            plan.works.append(_work(one, lacking, parsed, here, course, known.planned))
    old = {(result.hand_in, result.exercise_id): result for result in store.results()}
    changed = [result for result in known.results if old.get((result.hand_in, result.exercise_id)) != result]
    if known.gradings or changed:
        store.record(known.gradings, changed)
    planned = [result for work in plan.works for result in work.waiting]
    if waiting := [result for result in planned if (result.hand_in, result.exercise_id) not in old]:
        store.await_verdicts([replace(result, key="", problem=UNGRADED, is_missing=True) for result in waiting])
    plan.n_known = sum(not result.is_missing for result in known.results)
    return plan


@dataclass(slots=True)
class _Known:
    """What needs no worker: results whose verdict is there, answers that are missing or cannot be read.

    Attributes:
        final: keys of the verdicts that are there.
        planned: key → the work that will give it.
        results, gradings: to be kept at once.
    """

    course: Course
    final: set[str]
    planned: dict[str, Work] = field(default_factory=dict)
    results: list[Result] = field(default_factory=list)
    gradings: list[Grading] = field(default_factory=list)

    def take(self, one: StoredHandIn, reading: Reading) -> list[tuple[str, Result]]:
        """Sorts out one hand-in; returns (answer's digest, result) for each verdict that nobody has planned yet."""
        if reading.problem:
            self.results += [
                Result(one.id, name, "", reading.problem, True) for name in self.course.expected_in(one.file)
            ]
        lacking = []
        for exercise_id, answer in reading.answers.items():
            result = _result(one, exercise_id, answer, self.course)
            if isinstance(answer, Unreadable) and not result.is_missing and result.key not in self.final:
                self.gradings.append(_unreadable(result.key, answer, self.course))
                self.final.add(result.key)
            if result.is_missing or result.key in self.final:
                self.results.append(result)
            elif result.key in self.planned:
                self.planned[result.key].waiting.append(result)
            else:
                lacking.append((str(answer), result))
        return lacking


def _read(
    store: SqlStore, stored: list[StoredHandIn], here: Mapping[tuple, HandIn], course: Course
) -> tuple[dict[int, Reading], dict[int, Mapping[str, Submission]]]:
    """Readings by hand-in, and the answers of those that were read just now."""
    known = store.readings(course.reader)
    readings: dict[int, Reading] = {}
    parsed: dict[int, Mapping[str, Submission]] = {}
    fresh: dict[tuple[str, str], dict] = {}
    for one in stored:
        place = (one.digest, one.file)
        if one.problem:
            readings[one.id] = Reading(problem=one.problem)
        elif place in known:
            readings[one.id] = Reading.from_json(known[place])
        else:
            data = here[(one.student, one.file, one.digest)].data
            readings[one.id], parsed[one.id] = read_hand_in(one.file, data, course)
            fresh[place] = known[place] = readings[one.id].to_json()
    if fresh:
        store.add_readings(course.reader, fresh)
    return readings, parsed


def _result(one: StoredHandIn, exercise_id: str, answer: str | Unreadable, course: Course) -> Result:
    if isinstance(answer, str):
        return Result(one.id, exercise_id, course.key(exercise_id, answer))
    if answer.missing:
        return Result(one.id, exercise_id, "", answer.message, True)
    return Result(one.id, exercise_id, course.key_of_unreadable(answer))


def _unreadable(key: str, answer: Unreadable, course: Course) -> Grading:
    report = unreadable_report(answer, course.rows[answer.exercise_id])
    return Grading(key, answer.exercise_id, "", to_json(report), course.hidden.id, course.frozen[answer.exercise_id][0])


def _work(
    one: StoredHandIn, lacking: list[tuple[str, Result]], parsed: Mapping, here: Mapping, course: Course, planned: dict
) -> Work:
    answers = parsed.get(one.id) or submissions_in(one.file, here[(one.student, one.file, one.digest)].data, course)
    task = Task(
        label=f"{one.student}: {one.file}",
        answers=tuple((result.key, answers[digest]) for digest, result in lacking),
        packs=tuple(str(folder) for folder in course.class_file.packs),
        frozen={result.exercise_id: course.frozen[result.exercise_id][1] for _, result in lacking},
        hidden=course.hidden,
        device=course.device,
    )
    work = Work(task, [result for _, result in lacking])
    planned.update({result.key: work for _, result in lacking})
    return work


def carry_out(
    store: SqlStore, plan: Plan, course: Course, runner: Runner, after: Callable[[Outcome], None]
) -> list[Outcome]:
    """Has the plan's work done and keeps each outcome as it comes; returns those with an answer that nothing survives.

    Raises:
        GradingStopped: what grades is at fault; nothing is kept about hand-ins that have no verdict.
    """
    works = {work.task.key: work for work in plan.works}
    lost = []
    with contextlib.closing(fair_outcomes(runner, [work.task for work in plan.works])) as outcomes:
        for outcome in outcomes:
            work = works[outcome.task.key]
            store.record(_gradings(outcome, course), work.waiting, outcome.worker, datetime.now(UTC))
            if outcome.lost:
                lost.append(outcome)
            after(outcome)
    return lost


def _check_versions(outcome: Outcome, report: Mapping, course: Course) -> None:
    """Another release of the course would have its verdict stand under our versions."""
    made_with = report["versions"]
    if made_with and made_with != dict(course.versions):
        raise GradingStopped(
            f"the worker {outcome.worker} runs other versions than this command: {made_with} instead of {dict(course.versions)}"
        )


def _gradings(outcome: Outcome, course: Course) -> list[Grading]:
    answers, reports = dict(outcome.task.answers), dict(outcome.reports)
    for report in reports.values():
        _check_versions(outcome, report, course)
    for key, answer in answers.items():
        if key not in reports:
            reports[key] = to_json(_without_verdict(answer, outcome.lost, course))
    return [
        Grading(
            key=key,
            exercise_id=answers[key].exercise_id,
            answer=answers[key].digest,
            report=report,
            seeds=course.hidden.id,
            thresholds=course.frozen[answers[key].exercise_id][0],
            device=course.device,
            is_final=is_final(report),
        )
        for key, report in reports.items()
    ]


def _without_verdict(answer: Submission, why: str, course: Course) -> Report:
    """The report on an answer that ended whatever graded it."""
    return Report(
        answer.exercise_id, answer.digest, Verdict.INTERNAL_ERROR, 0.0, course.rows[answer.exercise_id].points,
        message=f"nothing could grade this answer, while others were graded: {why}", versions=dict(course.versions),
        device=course.device, when=datetime.now(UTC),
    )  # fmt: skip


def is_final(report: Mapping) -> bool:
    """False for what the next run tries again: a failure of ours, and a timing that could not be had just then."""
    timing = report["timing"] or {}
    return Verdict(str(report["verdict"])) not in OURS and not timing.get("problem")
