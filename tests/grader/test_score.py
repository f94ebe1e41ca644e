"""Goals: every metric has a value where it should, and nothing is met without evidence."""

from dataclasses import replace

import pytest

from grader.exercises import exercise
from grader.model import Goal, GoalState, Resources, Verdict
from grader.score import METRICS, Evidence, UnknownMetric, judge_goals, points
from simt.counters import Counters
from simt.launch import Dim3, LaunchConfig

MAP = exercise("selftest.map")
COUNTERS = Counters(
    global_load_requests=10, global_load_sectors=40, global_load_bytes=1280, global_store_requests=10,
    global_store_sectors=80, global_store_bytes=1280, shared_load_requests=6, shared_load_wavefronts=12,
    shared_load_excess=6, instructions=100, lane_instructions=1600, fma_lane_instructions=320, barriers=16, flops=64,
)  # fmt: skip
EVIDENCE = Evidence(
    COUNTERS, Resources(65, 8, 1024, 16), {"n": 320}, LaunchConfig(Dim3(2), Dim3(256)), "sm_80", 320, 1280, 1280,
    replace(COUNTERS, instructions=200),
)  # fmt: skip


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        ("global_load_sectors_per_request", 4), ("global_store_sectors_per_request", 8), ("sectors_per_request", 6),
        ("global_bytes_per_useful", 1.5), ("loads_per_output", 1), ("shared_load_ways", 2), ("shared_excess", 6),
        ("lane_efficiency", 0.5), ("shared_loads_per_fma", 0.6), ("barriers_per_block", 1), ("instructions_ratio", 0.5),
        ("registers", 65), ("spill_bytes", 8), ("occupancy", 0.375), ("occupancy_sm_86", 0.5), ("occupancy_sm_75", 0.75),
        ("flops_per_byte", 64 / 3840), ("speedup", None),
    ],
)  # fmt: skip
def test_a_metric_is_what_its_name_says(metric, value):
    found = METRICS[metric].value(EVIDENCE)
    assert found == value if value is None else found == pytest.approx(value)


@pytest.mark.parametrize("name", METRICS)
def test_a_kernel_that_does_nothing_divides_by_nothing(name):
    METRICS[name].value(replace(EVIDENCE, counters=Counters(), baseline=Counters(), resources=None))


def test_a_limit_may_depend_on_the_sizes():
    row = replace(MAP, goals=(Goal("global_load_requests", "n / 32", False, 2.0, "once each"),))
    assert judge_goals(row, EVIDENCE, {"n": 320})[0].state is GoalState.MET
    assert judge_goals(row, EVIDENCE, {"n": 288})[0].state is GoalState.MISSED


def test_without_evidence_every_goal_is_missed():
    row = replace(MAP, goals=(Goal("shared_excess", 0, False, 2.0, "none"), Goal("speedup", 1, True, 1.0, "fast")))
    assert {goal.state for goal in judge_goals(row, None, {})} == {GoalState.MISSED}


def test_what_cannot_be_counted_leaves_the_maximum():
    row = replace(MAP, goals=(Goal("shared_excess", 9, False, 2.0, "few"), Goal("speedup", 1, True, 1.0, "fast")))
    goals = judge_goals(row, EVIDENCE, {})
    assert points(row, Verdict.PASS, goals) == (3.0, 3.0)
    assert points(row, Verdict.WRONG_ANSWER, goals)[0] == 0.0


def test_a_metric_that_does_not_exist_names_the_near_one():
    with pytest.raises(UnknownMetric, match="shared_excess"):
        judge_goals(replace(MAP, goals=(Goal("shared_exces", 0, False, 1.0, ""),)), EVIDENCE, {})
