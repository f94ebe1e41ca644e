"""The statistic and its decisions on recorded and made-up noise: what it must never do, and what it must always see."""

from dataclasses import replace

import numpy as np
import pytest

from grader.timing.decision import MARGIN, Decision, decide, disturbance, faster_than_physics
from grader.timing.rounds import MOST_ROUNDS, judge_rounds
from grader.timing.statistics import interval_ranks, kept_pairs, statistics_of
from grader.timing.trace import Surroundings
from tests.grader.timing.traces import NOISES, Rounds, trace_of

EACH = 2000 // len(NOISES) + 1  # runs under each noise: over two thousand in all

by_noise = pytest.mark.parametrize("noise", NOISES)


def decision(outcome, threshold):
    return decide(outcome.statistics.low, outcome.statistics.high, threshold)


@pytest.mark.parametrize(("n", "ranks"), [(40, (10, 31)), (80, (26, 55)), (120, (43, 78))])
def test_ranks_of_the_interval_are_those_of_the_protocol(n, ranks):
    assert interval_ranks(n) == ranks


@by_noise
def test_equal_kernels_are_never_five_percent_apart_and_never_fail(noise):
    ratios = []
    for seed in range(EACH):
        outcome = judge_rounds(Rounds(noise, 1.0, seed), [1.0])
        ratios.append(statistics_of(outcome.traces[:1]).ratio)
        assert decision(outcome, 1.0) is not Decision.FAIL
    off = np.abs(np.array(ratios) - 1)
    assert off.max() <= 0.05
    assert (off > 0.02).mean() < (0.01 if noise in ("quiet", "drift") else 0.25)


@by_noise
def test_a_kernel_ten_percent_slower_is_caught(noise):
    outcomes = [judge_rounds(Rounds(noise, 1 / 1.1, seed), [1.0]) for seed in range(EACH)]
    caught = sum(decision(outcome, 1.0) is Decision.FAIL for outcome in outcomes)
    assert caught >= 0.99 * EACH
    assert all(outcome.repeated for outcome in outcomes if decision(outcome, 1.0) is Decision.FAIL)


@by_noise
@pytest.mark.parametrize("threshold", [0.6, 1.0, 3.7])
def test_a_true_ratio_at_the_threshold_never_fails(noise, threshold):
    for seed in range(EACH // 2):
        assert decision(judge_rounds(Rounds(noise, threshold, seed), [threshold]), threshold) is not Decision.FAIL


@by_noise
def test_arms_exchanged_give_the_reciprocal(noise):
    trace = Rounds(noise, 1.7, 3)()
    turned = trace_of(trace.student_ns, trace.baseline_ns)
    assert statistics_of([trace]).ratio * statistics_of([turned]).ratio == pytest.approx(1.0, rel=1e-12)


def test_means_of_the_same_pairs_would_have_been_wrong():
    """What the protocol is for: on the recorded noise a quotient of means is more than 5 % off in most runs."""
    off = [
        abs(trace.baseline_ns.mean() / trace.student_ns.mean() - 1) > 0.05
        for seed in range(200)
        for trace in [Rounds("loaded CPU", 1.0, seed)()]
    ]
    assert np.mean(off) > 0.5


def test_a_decision_is_the_interval_against_the_margin():
    assert decide(0.96, 1.2, 1.0) is Decision.PASS
    assert decide(0.90, 0.949, 1.0) is Decision.FAIL
    assert decide(0.94, 0.96, 1.0) is Decision.OPEN
    assert decide(1.9, 2.1, 2.0) is Decision.PASS  # 1.9 is 0.95 of 2


def test_a_clear_case_takes_one_round_and_an_open_one_three():
    clear = judge_rounds(Rounds("quiet", 1.5, 1), [1.0])
    assert len(clear.traces) == 1 and not clear.borderline and not clear.repeated
    across = judge_rounds(Rounds("heavy", MARGIN, 1), [1.0])
    assert len(across.traces) == MOST_ROUNDS and across.borderline and across.statistics.used == 40 * MOST_ROUNDS


def test_a_fail_that_a_fresh_process_does_not_repeat_is_none():
    slow, fine = Rounds("quiet", 0.8, 1), Rounds("quiet", 1.0, 2)
    outcome = judge_rounds(lambda fresh: fine() if fresh else slow(), [1.0])
    assert decision(outcome, 1.0) is Decision.PASS and outcome.repeated and len(outcome.traces) == 2


def test_only_the_repetition_asks_for_a_fresh_process():
    rounds = Rounds("quiet", 0.8, 1)
    judge_rounds(rounds, [1.0])
    assert rounds.asked == [False, True]


def test_several_thresholds_are_decided_together():
    outcome = judge_rounds(Rounds("quiet", 2.0, 1), [1.5, 4.0])
    assert decision(outcome, 1.5) is Decision.PASS and decision(outcome, 4.0) is Decision.FAIL


def test_clocks_drop_pairs_and_times_never_do():
    clocks = np.where(np.arange(40) % 10 == 0, 1900.0, 1980.0)
    trace = Rounds("heavy", 1.0, 1, clocks=clocks)()
    assert kept_pairs(trace).sum() == 36
    assert statistics_of([trace]).dropped == 4
    assert kept_pairs(Rounds("heavy", 1.0, 1)()).all()


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"foreign": 2}, "2 other processes used the GPU"),
        ({"clocks": np.where(np.arange(40) < 13, 1000.0, 1980.0)}, "the SM clock changed within 13 of 40 pairs"),
    ],
)
def test_a_disturbance_is_not_measurable_and_no_fail(more, says):
    outcome = judge_rounds(Rounds("quiet", 0.5, 1, **more), [1.0])
    assert says in outcome.problem and len(outcome.traces) == 1 and not outcome.repeated


def test_a_baseline_off_its_calibrated_time_is_a_disturbance():
    trace = Rounds("quiet", 1.0, 1)()
    assert "when this GPU was calibrated" in disturbance([trace], statistics_of([trace]), 200_000.0)
    assert disturbance([trace], statistics_of([trace]), 270_000.0) == ""


def test_a_sample_under_ten_floors_is_too_short():
    trace = trace_of(np.full(40, 20_000.0), np.full(40, 31_000.0))
    assert "too short" in disturbance([trace], statistics_of([trace]))
    twice = trace_of(np.full(40, 20_000.0), np.full(40, 31_000.0), copies=2)
    assert disturbance([twice], statistics_of([twice])) == ""


def few(baseline_s, *student_s, **more):
    """A round that had time for as many pairs as there are times of the student."""
    n = len(student_s)
    steady = {"baseline_mhz": np.full(n, 1980.0), "student_mhz": np.full(n, 1980.0)} | more
    return trace_of(np.full(n, 1e9 * baseline_s), 1e9 * np.array(student_s), **steady)


def test_fewer_than_ten_pairs_have_no_interval_and_decide_only_what_is_a_factor_of_ten_away():
    for n in range(1, 10):
        found = statistics_of([few(1.0, *[2.0] * n)])
        assert found.used == n and found.ratio == pytest.approx(0.5)
        assert (found.low, found.high) == (pytest.approx(0.05), pytest.approx(5.0))
    ten = statistics_of([few(1.0, *[2.0] * 10)])
    assert (ten.low, ten.high) == (pytest.approx(0.5), pytest.approx(0.5))


def test_a_few_pairs_of_a_kernel_that_is_far_too_slow_fail_in_two_processes():
    rounds = []
    outcome = judge_rounds(lambda fresh: rounds.append(fresh) or few(60e-6, 5.0, 5.0, 5.0), [1.3])
    assert decision(outcome, 1.3) is Decision.FAIL and not outcome.problem and outcome.statistics.used == 3
    assert rounds == [False, True]


def test_a_few_pairs_that_leave_a_goal_open_are_not_measurable_and_no_pass():
    outcome = judge_rounds(lambda fresh: few(3.0, 4.0, 4.0), [1.3])
    assert len(outcome.traces) == MOST_ROUNDS and not outcome.borderline
    assert outcome.problem == "there was time for 6 pairs, and an interval needs 10"


def test_a_kernel_that_is_slow_only_now_and_then_gains_nothing_by_a_round_that_ends_early():
    """Its median would pass; that the round ended is its own doing, and all of its time counts."""
    outcome = judge_rounds(lambda fresh: few(60e-6, 30e-6, 7.0, 30e-6, 30e-6, 7.0, 30e-6), [1.3])
    assert decision(outcome, 1.3) is Decision.FAIL and not outcome.problem


def test_one_launch_that_somebody_held_up_fails_nobody():
    held, fine = few(60e-6, 30e-6, 30.0), Rounds("quiet", 2.0, 1)
    outcome = judge_rounds(lambda fresh: fine() if fresh else held, [1.3])
    assert decision(outcome, 1.3) is Decision.PASS and outcome.repeated


FAR_TOO_SLOW = {
    "few pairs at another clock": few(9e-5, 5.0, 5.0, student_mhz=np.full(2, 345.0)),
    "a baseline too short for single launches": trace_of(np.full(20, 6e3), np.full(20, 9e8)),
}


@pytest.mark.parametrize("what", FAR_TOO_SLOW)
def test_a_kernel_gains_nothing_by_being_too_slow_to_be_timed_well(what):
    trace = FAR_TOO_SLOW[what]
    outcome = judge_rounds(lambda fresh: trace, [1.3], 6e4)
    assert decision(outcome, 1.3) is Decision.FAIL and not outcome.problem and outcome.repeated
    nearer = replace(trace, student_ns=trace.baseline_ns * 2)
    assert judge_rounds(lambda fresh: nearer, [1.3], 6e4).problem
    beside = replace(trace, after=Surroundings(foreign=1))
    assert "other process" in judge_rounds(lambda fresh: beside, [1.3], 6e4).problem


@pytest.mark.parametrize(
    "trace",
    [
        trace_of(np.full(20, 6e4), np.full(20, 9e6), student_mhz=np.full(20, 345.0)),
        trace_of(np.full(20, 9e4), np.full(20, 9e6)),
    ],
)
def test_a_disturbed_round_of_enough_pairs_fails_nobody_however_slow(trace):
    outcome = judge_rounds(lambda fresh: trace, [1.3], 6e4)
    assert outcome.problem and not outcome.repeated


def test_no_kernel_is_faster_than_its_bytes():
    assert faster_than_physics(10_000.0, 128 << 20, 4.8e12)
    assert faster_than_physics(30_000.0, 128 << 20, 4.8e12) == ""
    assert faster_than_physics(1.0, 128 << 20, None) == ""


def test_a_round_without_pairs_is_a_problem():
    nothing = np.zeros(0)
    outcome = judge_rounds(lambda fresh: trace_of(nothing, nothing, floor_ns=nothing), [1.0])
    assert outcome.problem and outcome.statistics.used == 0
