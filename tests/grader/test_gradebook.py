"""Marks from facts made by hand: what a speed goal that nobody measured does to them, and who shares a hand-in."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from grader.class_file import ClassFile, Unmeasured, no_class
from grader.collecting import Student
from grader.gradebook import Facts, make_gradebook
from grader.model import Basis, Exercise, Goal, GoalResult, GoalState, KernelAnswer, Report, Verdict
from grader.report.json_form import to_json
from grader.stores.records import Grading, Result, StoredHandIn

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
FAST = Exercise(
    "x.fast", "x", "fast", KernelAnswer("k", {"grid": 1, "block": 32}), points=2.0,
    goals=(Goal("registers", 64, False, 1.0, "why"), Goal("speedup", 2.0, True, 3.0, "why")),
)  # fmt: skip


def goal(metric, state, points):
    return GoalResult(metric, None, 2.0, True, state, Basis.COUNTED, points)


def facts(speed):
    """One right answer whose speed goal is in this state, from the only one of a team of two who handed in."""
    met = 3.0 if speed is GoalState.MET else 0.0
    most = 3.0 if speed is GoalState.NOT_MEASURED else 6.0
    goals = (goal("registers", GoalState.MET, 1.0), goal("speedup", speed, 3.0))
    report = to_json(Report("x.fast", "d", Verdict.PASS, 3.0 + met, most, goals=goals, when=NOON))
    return Facts(
        {"ann": Student("ann", team="t"), "bob": Student("bob", team="t"), "cy": Student("cy")},
        [StoredHandIn(1, "ann", "x.py", "b", NOON, NOON, False, "ann/x.py", "")],
        [Result(1, "x.fast", "k")], {"k": Grading("k", "x.fast", "d", report)}, [],
    )  # fmt: skip


def entries(given, class_file):
    book = make_gradebook(given, class_file, {"x.fast": FAST})
    return {row.student: row.entries[0] for row in book.rows}


@pytest.mark.parametrize(
    ("policy", "state", "score", "pending"),
    [
        (Unmeasured.WAIVE, GoalState.NOT_MEASURED, 6.0, False),
        (Unmeasured.PENDING, GoalState.NOT_MEASURED, 3.0, True),
        (Unmeasured.WAIVE, GoalState.MISSED, 3.0, False),
        (Unmeasured.PENDING, GoalState.MISSED, 3.0, False),
        (Unmeasured.PENDING, GoalState.MET, 6.0, False),
    ],
)
def test_a_speed_goal_nobody_measured_is_waived_or_pending(policy, state, score, pending):
    entry = entries(facts(state), ClassFile(unmeasured_speed=policy))["ann"]
    assert (entry.score, entry.max_score, entry.is_pending) == (score, 6.0, pending)


def test_one_hand_in_counts_for_the_team_and_for_nobody_else():
    found = entries(facts(GoalState.MET), no_class())
    assert {student: entry.verdict for student, entry in found.items()} == {
        "ann": "pass",
        "bob": "pass",
        "cy": "missing",
    }


def test_a_verdict_that_is_not_there_is_lost_and_earns_nothing():
    given = replace(facts(GoalState.MET), gradings={})
    entry = entries(given, no_class())["ann"]
    assert (entry.verdict, entry.score, entry.is_passed) == ("lost", 0.0, False)
