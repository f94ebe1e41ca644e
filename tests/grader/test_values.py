"""Predictions: judged only once they are locked in, and worth nothing when changed afterwards."""

import json
from dataclasses import replace

import pytest

from grader.answers import submit
from grader.exercises import exercise
from grader.model import Question, ValueAnswer, Verdict
from grader.pipeline import grade
from grader.values import seal, sealed_literal

ROW = replace(
    exercise("selftest.map"),
    id="topic.predict",
    answer=ValueAnswer(
        (
            Question("sectors", "Sectors per request?", 4.0, explain="32 lanes of 4 bytes"),
            Question("bound", "What limits it?", "memory", choices=("memory", "compute")),
        )
    ),
    points=4.0,
)
GOOD = {"sectors": 4, "bound": "memory"}


def locked(answers):
    return json.loads(sealed_literal(ROW.id, answers, "2026-11-29T12:00:00"))


def report(values):
    return grade(submit(ROW, values=values), ROW, None)


def test_right_answers_that_are_locked_pass_and_are_explained():
    found = report(locked(GOOD))
    assert found.verdict is Verdict.PASS and found.score == found.max_score == 4.0
    assert "32 lanes" in found.message and "12:00:00" in found.message


def test_answers_without_a_seal_are_not_judged_but_offered_locked():
    found = report({"answers": GOOD})
    assert found.verdict is Verdict.UNREADABLE and found.cases == () and "32 lanes" not in found.message
    offered = json.loads(found.message.partition(" = ")[2])
    assert report(offered).verdict is Verdict.PASS


def test_answers_changed_after_the_reveal_earn_nothing():
    values = locked({"sectors": 5, "bound": "memory"}) | {"answers": GOOD}
    found = report(values)
    assert found.verdict is Verdict.WRONG_ANSWER and found.score == 0 and "changed" in found.message


def test_each_right_answer_earns_its_share():
    found = report(locked({"sectors": 5, "bound": "memory"}))
    assert found.verdict is Verdict.WRONG_ANSWER and found.score == 2.0
    assert found.cases[0].first_bad[0]["got"] == 5


@pytest.mark.parametrize(
    ("answers", "word"),
    [
        ({"sectors": None, "bound": "memory"}, "no answer yet"), ({}, "no answer yet"), ("4", "one entry per question"),
        ({"sectors": True, "bound": "memory"}, "type a number"), ({"sectors": "4", "bound": "memory"}, "type a number"),
        ({"sectors": float("nan"), "bound": "memory"}, "type a number"), ({"sectors": 4, "bound": "disk"}, "choose one"),
        (GOOD | {"other": 1}, "no question called 'other'"),
    ],
)  # fmt: skip
def test_what_is_no_answer_says_so(answers, word):
    found = report({"answers": answers, "typed": "now", "seal": "x"})
    assert found.verdict is Verdict.UNREADABLE and word in found.message and found.score == 0


def test_a_seal_belongs_to_exercise_answers_and_time():
    seals = {seal("a", GOOD, "t"), seal("b", GOOD, "t"), seal("a", {}, "t"), seal("a", GOOD, "u")}
    assert len(seals) == 4
