"""A stored verdict reached again: the answer out of the stored hand-in, the thresholds of then, this machine's tools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from grader.batch.course import class_of_store, open_course
from grader.batch.reading import submissions_in
from grader.batch.work import Task, do
from grader.hidden import load_hidden
from grader.model import Basis, Submission
from grader.pipeline import versions
from grader.stores import Grading
from grader.stores.sql_store import SqlStore

__all__ = ["Replayed", "ReplayProblem", "replay"]

TIMES = ("when", "timing")  # never the same twice


class ReplayProblem(RuntimeError):
    """A verdict that cannot be reached again here: why, and what to do."""

    def __init__(self, message: str, help: str = ""):
        super().__init__(message)
        self.help = help


@dataclass(frozen=True, slots=True)
class Replayed:
    """The report of now, the fields in which it differs, and name → (then, now) of each version that does."""

    report: Mapping[str, object]
    differences: tuple[str, ...]
    versions: Mapping[str, tuple[str, str]]


def replay(store: SqlStore, grading: Grading) -> Replayed:
    """Judges the stored answer again.

    Raises:
        ReplayProblem: its hidden seeds are not here, its exercise is gone, or nothing could be judged in it.
    """
    hidden = load_hidden()
    if hidden.id != grading.seeds:
        raise ReplayProblem(
            f"the verdict was reached with the hidden seeds {grading.seeds or 'none'!r}, here they are {hidden.id or 'none'!r}",
            "name the same seeds file in WARPWISE_SEEDS",
        )
    if not grading.answer:
        raise ReplayProblem(
            "this answer could not be read, so nothing ran", "the stored report says which lines stop it"
        )
    frozen = store.thresholds(grading.thresholds)
    class_file = class_of_store(store)
    assert frozen is not None, "a verdict names thresholds that the store keeps"
    answer = _answer(store, grading)
    task = Task(
        "replay", ((grading.key, answer),), tuple(map(str, class_file.packs)), {answer.exercise_id: frozen}, hidden,
        grading.device or "simulator",
    )  # fmt: skip
    ((_, report),) = do(task)
    stored = grading.report
    differences = tuple(
        name
        for name in report
        if name not in (*TIMES, "versions") and _repeatable(report, name) != _repeatable(stored, name)
    )
    return Replayed(report, differences, _versions(stored["versions"]))


def _repeatable(report: Mapping[str, object], name: str) -> object:
    """A field as it comes again: of a goal that was measured the state, since no two measurements give the same ratio."""
    value = report.get(name)
    if name == "goals" and isinstance(value, list):
        return [goal | {"value": None} if goal["basis"] == Basis.MEASURED else goal for goal in value]
    return value


def _answer(store: SqlStore, grading: Grading) -> Submission:
    """The answer, read again from a hand-in that gave it."""
    with_key = {result.hand_in for result in store.results() if result.key == grading.key}
    course = open_course(store, class_of_store(store), grading.device or "simulator")
    every = store.hand_ins()
    for one in sorted(every, key=lambda one: one.id not in with_key):
        found = submissions_in(one.file, store.blob(one.digest), course)
        if grading.answer in found:
            return found[grading.answer]
    raise ReplayProblem(f"no stored hand-in answers {grading.exercise_id} so", "was the database put together by hand?")


def _versions(then: object) -> dict[str, tuple[str, str]]:
    old = dict(then) if isinstance(then, Mapping) else {}
    now = versions()
    return {name: (str(old.get(name, "unknown")), now[name]) for name in now if old.get(name) != now[name]}
