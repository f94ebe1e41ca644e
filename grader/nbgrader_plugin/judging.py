"""Reports on the answers of one notebook: by a fresh worker, or from a store where `grader grade` has left them.

With a store, many processes can grade a class beforehand and nbgrader only reads; what is not there is judged and kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from grader.batch.course import Course, class_of_store, open_course
from grader.batch.run import is_final
from grader.batch.work import Task, do
from grader.class_file import Unmeasured, no_class
from grader.hidden import load_hidden
from grader.model import Exercise, Report, Submission, Unreadable
from grader.pipeline import unreadable_report
from grader.report.json_form import from_json
from grader.stores import Grading, open_store
from grader.stores.sql_store import SqlStore
from grader.thresholds import thresholds_of

__all__ = ["judged", "policy_of"]

Answers = Mapping[str, Submission | Unreadable]


def judged(rows: Sequence[Exercise], answers: Answers, device: str, db: str = "") -> dict[str, Report]:
    """Exercise id → report.

    Args:
        rows: what the notebook should answer.
        answers: what it does answer, by exercise id.
        device: name of the device.
        db: URL of a store, "" for none.
    """
    readable = {row.id: answer for row in rows if isinstance(answer := answers[row.id], Submission)}
    reports = {
        row.id: unreadable_report(answer, row) for row in rows if isinstance(answer := answers[row.id], Unreadable)
    }
    if not db:
        task = Task(
            "a notebook",
            tuple(readable.items()),
            (),
            {row.id: thresholds_of(row)[1] for row in rows},
            load_hidden(),
            device,
        )
        return reports | {key: from_json(report) for key, report in _done(task)}
    with open_store(db) as store:
        course = open_course(store, class_of_store(store) if store.class_file()[0] else no_class(), device)
        return reports | _by_store(readable, store, course)


def policy_of(db: str) -> Unmeasured:
    """What the class in a store says of points for speed; what holds without a class where `db` is ""."""
    if not db:
        return no_class().unmeasured_speed
    with open_store(db) as store:
        return class_of_store(store).unmeasured_speed


def _by_store(readable: Mapping[str, Submission], store: SqlStore, course: Course) -> dict[str, Report]:
    keys = {course.key(exercise_id, answer.digest): answer for exercise_id, answer in readable.items()}
    known = {key: grading for key, grading in store.gradings(keys).items() if grading.is_final}
    task = Task(
        label="a notebook",
        answers=tuple((key, answer) for key, answer in keys.items() if key not in known),
        packs=tuple(str(folder) for folder in course.class_file.packs),
        frozen={name: course.frozen[name][1] for name in readable},
        hidden=course.hidden,
        device=course.device,
    )
    found = {key: grading.report for key, grading in known.items()}
    made = [_grading(key, keys[key], report, course) for key, report in _done(task)]
    if made:
        store.record(made, [], "nbgrader", datetime.now(UTC))
    found |= {grading.key: grading.report for grading in made}
    return {keys[key].exercise_id: from_json(report) for key, report in found.items()}


def _done(task: Task) -> Sequence[tuple[str, Mapping[str, object]]]:
    return do(task) if task.answers else ()


def _grading(key: str, answer: Submission, report: Mapping[str, object], course: Course) -> Grading:
    exercise_id = answer.exercise_id
    held = course.frozen[exercise_id][0]
    return Grading(key, exercise_id, answer.digest, report, course.hidden.id, held, course.device, is_final(report))
