"""A failure of ours while an answer is judged: tried again, and believed only where a right answer passes."""

import pytest

from grader.batch.work import TRIES, GradingStopped, Task, control, do
from grader.exercises.selftest import MAP
from grader.model import Report, Submission, Verdict
from grader.thresholds import thresholds_of

ANSWER = Submission(MAP.id, "d" * 64, "int x;")


@pytest.fixture
def judge(monkeypatch):
    """Judges by a list of verdicts instead of the simulator; (verdicts to give, digests that were judged)."""
    verdicts, judged = [], []

    def grade(answer, exercise, device, *, fresh, hidden):
        judged.append(answer.digest)
        return Report(exercise.id, answer.digest, verdicts.pop(0), 0.0, 1.0, message="the disk is full")

    monkeypatch.setattr("grader.pipeline.grade", grade)
    return verdicts, judged


def task():
    return Task("ann", (("key", ANSWER),), frozen={MAP.id: thresholds_of(MAP)[1]})


def verdict():
    ((key, report),) = do(task())
    assert key == "key"
    return report["verdict"]


def test_a_passing_failure_of_ours_costs_nobody_a_verdict(judge):
    verdicts, judged = judge
    verdicts += [Verdict.INTERNAL_ERROR, Verdict.INTERNAL_ERROR, Verdict.WRONG_ANSWER]
    assert verdict() == "wrong_answer" and judged == [ANSWER.digest] * TRIES


def test_a_failure_that_comes_again_while_a_right_answer_passes_is_the_verdict(judge):
    verdicts, judged = judge
    verdicts += [Verdict.INTERNAL_ERROR] * TRIES + [Verdict.PASS]
    assert verdict() == "internal_error" and len(judged) == TRIES + 1 and judged[-1] != ANSWER.digest


def test_where_not_even_a_right_answer_passes_nothing_is_judged(judge):
    verdicts, _ = judge
    verdicts += [Verdict.INTERNAL_ERROR] * (TRIES + 1)
    with pytest.raises(GradingStopped, match="right answer.*the disk is full"):
        do(task())


def test_the_control_passes_here():
    ((_, report),) = do(control())
    assert report["verdict"] == "pass" and report["passed"]
