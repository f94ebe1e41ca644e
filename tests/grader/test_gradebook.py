"""Marks from facts made by hand: what speed goals do to them under each policy, and who shares a hand-in."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from grader.class_file import Assignment, ClassFile, Member, Unmeasured, no_class
from grader.collecting import Student
from grader.gradebook import Facts, make_gradebook
from grader.model import Basis, Exercise, Goal, GoalResult, GoalState, KernelAnswer, Report, Timing, Verdict
from grader.report.json_form import to_json
from grader.stores.records import Grading, Mark, Result, StoredHandIn

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
DAY = timedelta(days=1)
FAST = Exercise(
    "x.fast", "x", "fast", KernelAnswer("k", {"grid": 1, "block": 32}), points=2.0,
    goals=(Goal("registers", 64, False, 1.0, "why"), Goal("speedup", 2.0, True, 3.0, "why")),
)  # fmt: skip


def goal(metric, state, points, basis=Basis.COUNTED, limit=2.0):
    return GoalResult(metric, None, limit, True, state, basis, points)


def facts(speed, basis=Basis.MEASURED, off=()):
    """One right answer whose speed goal is in this state, from the only one of a team of two who handed in."""
    met = 3.0 if speed is GoalState.MET else 0.0
    most = 3.0 if speed is GoalState.NOT_MEASURED else 6.0
    goals = (goal("registers", GoalState.MET, 1.0), goal("speedup", speed, 3.0, basis))
    timing = Timing(2.0, 2.0, 2.0, 1.0, 1.0, basis, "H200 SXM", off=off) if basis is not Basis.COUNTED else None
    return held(Report("x.fast", "d", Verdict.PASS, 3.0 + met, most, goals=goals, timing=timing, when=NOON))


def held(report):
    return Facts(
        {"ann": Student("ann", team="t"), "bob": Student("bob", team="t"), "cy": Student("cy")},
        [StoredHandIn(1, "ann", "x.py", "b", NOON, NOON, False, "ann/x.py", "")],
        [Result(1, "x.fast", "k")], {"k": Grading("k", "x.fast", "d", to_json(report))}, [],
    )  # fmt: skip


def entries(given, class_file):
    book = make_gradebook(given, class_file, {"x.fast": FAST})
    return {row.student: row.entries[0] for row in book.rows}


MET, MISSED, OPEN = GoalState.MET, GoalState.MISSED, GoalState.NOT_MEASURED
MEASURED, ESTIMATED, NOBODY = Basis.MEASURED, Basis.ESTIMATED, Basis.COUNTED


# 6 points: 3 for a right kernel and its registers, 3 for speed. Of these, the score; what is said of speed; passed?
@pytest.mark.parametrize(
    ("state", "basis", "estimate", "pending", "waive"),
    [
        (MET, MEASURED, (6, "measured", True), (6, "measured", True), (6, "measured", True)),
        (MISSED, MEASURED, (3, "measured", False), (3, "measured", False), (3, "measured", False)),
        (OPEN, MEASURED, (6, "left out", True), (3, "pending", True), (6, "waived", True)),  # such as a GPU in use
        (MET, ESTIMATED, (6, "estimated", True), (3, "pending", True), (6, "waived", True)),
        (MISSED, ESTIMATED, (3, "estimated", False), (3, "pending", True), (6, "waived", True)),
        (OPEN, ESTIMATED, (6, "left out", True), (3, "pending", True), (6, "waived", True)),
        (OPEN, NOBODY, (6, "left out", True), (3, "pending", True), (6, "waived", True)),
    ],
)
def test_points_for_speed_follow_the_policy(state, basis, estimate, pending, waive):
    for policy, want in (("estimate", estimate), ("pending", pending), ("waive", waive)):
        entry = entries(facts(state, basis), ClassFile(unmeasured_speed=Unmeasured(policy)))["ann"]
        assert (entry.score, entry.max_score) == (want[0], 6.0), policy
        assert (entry.speed, entry.is_passed, entry.is_pending) == (want[1], want[2], want[1] == "pending"), policy


def test_nothing_waits_for_a_limit_that_this_gpu_cannot_hold():
    entry = entries(facts(OPEN, MEASURED, off=(2.0,)), ClassFile(unmeasured_speed=Unmeasured.PENDING))["ann"]
    assert (entry.score, entry.speed, entry.is_pending) == (6.0, "left out", False)


def test_of_two_tiers_the_open_one_alone_waits():
    """A GPU settled the first tier and the second is off there; or the estimate settled the first alone."""
    tiers = (goal("speedup", MET, 2.0, MEASURED, 1.5), goal("speedup", OPEN, 1.0, MEASURED, 3.0))
    timing = Timing(2.0, 2.0, 2.0, 1.0, 1.0, MEASURED, "H200 SXM", off=(3.0,))
    report = Report("x.fast", "d", Verdict.PASS, 5.0, 5.0, goals=tiers, timing=timing, when=NOON)
    pending = ClassFile(unmeasured_speed=Unmeasured.PENDING)
    assert entries(held(report), pending)["ann"].score == 6.0
    guessed = (goal("speedup", MET, 2.0, ESTIMATED, 1.5), goal("speedup", OPEN, 1.0, ESTIMATED, 3.0))
    report = replace(report, goals=guessed, timing=replace(timing, basis=ESTIMATED, off=()))
    assert [entries(held(report), ClassFile(unmeasured_speed=policy))["ann"].score for policy in Unmeasured] == [
        6.0,
        3.0,
        6.0,
    ]


@pytest.mark.parametrize("policy", Unmeasured)
def test_a_wrong_kernel_earns_nothing_and_waits_for_nothing(policy):
    goals = (goal("registers", MISSED, 1.0), goal("speedup", MISSED, 3.0))
    report = Report("x.fast", "d", Verdict.RACE, 0.0, 6.0, goals=goals, when=NOON)
    entry = entries(held(report), ClassFile(unmeasured_speed=policy))["ann"]
    assert (entry.score, entry.max_score, entry.is_passed, entry.is_pending) == (0.0, 6.0, False, False)


def test_a_mark_by_hand_leaves_nothing_open_and_a_comment_alone_does():
    given = facts(OPEN, NOBODY)
    pending = ClassFile(unmeasured_speed=Unmeasured.PENDING)
    comment, score = Mark("ann", "x.fast", None, "see me", "", NOON), Mark("ann", "x.fast", 5.0, "", "", NOON)
    assert entries(replace(given, marks=[comment]), pending)["ann"].is_pending
    entry = entries(replace(given, marks=[score]), pending)["ann"]
    assert (entry.score, entry.speed, entry.is_pending) == (5.0, "", False)


def test_what_came_after_the_last_day_leaves_an_earlier_hand_in():
    """A right answer on the day, a wrong one three days later: accepted it costs, too late it changes nothing."""
    right = facts(MET)
    late = StoredHandIn(2, "ann", "x.py", "b2", NOON + 3 * DAY, NOON + 3 * DAY, False, "ann/x.py", "")
    wrong = to_json(Report("x.fast", "d2", Verdict.RACE, 0.0, 6.0, when=NOON))
    given = replace(
        right, hand_ins=[*right.hand_ins, late], results=[*right.results, Result(2, "x.fast", "k2")],
        gradings={**right.gradings, "k2": Grading("k2", "x.fast", "d2", wrong)},
    )  # fmt: skip
    found = {}
    for last_day in (2, 3, None):
        held_to = ClassFile(assignments=(Assignment("a", ("x.fast",), NOON, 0.25, last_day),))
        found[last_day] = (entries(given, held_to)["ann"].score, entries(given, held_to)["ann"].kept_share)
    assert found == {2: (6.0, 1.0), 3: (0.0, 0.25), None: (0.0, 0.25)}
    extended = ClassFile(
        assignments=(Assignment("a", ("x.fast",), NOON, 0.25, 2),), students={"ann": Member(extension_days=1)}
    )
    assert entries(given, extended)["ann"].verdict == "race"


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
