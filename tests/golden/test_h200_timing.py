"""What the timing did on an H200, as `record_timing.py` recorded it: the acceptance of the protocol, on hardware."""

import json
from pathlib import Path

import numpy as np
import pytest

from grader.timing.decision import Decision, decide
from grader.timing.statistics import statistics_of
from tests.golden.timing_course import agreement
from tests.grader.timing.traces import trace_of

H200 = Path(__file__).with_name("h200")
PARTS = json.loads((H200 / "timing.json").read_text(encoding="utf-8"))
COURSE = json.loads((H200 / "course.json").read_text(encoding="utf-8"))["course"]
KERNELS = ("copy", "product", "copy_small", "nothing")


def runs(part):
    return PARTS[part]["runs"]


def off_one(part):
    return np.abs(np.array([row["ratio"] for row in runs(part)]) - 1)


def test_the_recording_names_gpu_driver_and_tools():
    machine = PARTS["machine"]
    assert machine["gpu"] == "NVIDIA H200" and all(
        machine[key] for key in ("driver", "cupy", "nvrtc", "ncu", "recorded")
    )


@pytest.mark.parametrize(("part", "least"), [("aa_idle", 100), ("aa_neighbour", 50)])
def test_equal_kernels_are_equal(part, least):
    assert len(runs(part)) >= least
    assert off_one(part).max() <= 0.05 and (off_one(part) > 0.02).mean() < 0.01
    assert all(decide(row["low"], row["high"], 1.0) is not Decision.FAIL for row in runs(part))
    assert all(row["findings"] == [] for row in runs(part))


def test_a_neighbour_is_seen_and_nobody_fails_beside_it():
    assert all("other process" in row["problem"] for row in runs("aa_neighbour"))
    assert all(row["problem"] == "" for row in runs("aa_idle"))


def test_means_of_the_same_launches_were_further_off():
    worst = max(abs(row["mean_of_means"] - 1) for row in runs("aa_neighbour"))
    assert worst > 0.1 > off_one("aa_neighbour").max()


def test_kernels_ten_percent_slower_fail():
    assert len(runs("slower_idle")) >= 50
    assert all(row["decision"] == "fail" for row in runs("slower_idle"))
    assert {row["variant"] for row in runs("slower_idle")} == {"more bytes", "more dependent multiply-adds"}
    assert all(1.09 < row["takes"] < 1.11 for row in PARTS["slower_idle"]["summary"].values())


def test_beside_a_neighbour_they_fail_or_are_not_measurable():
    assert len(runs("slower_neighbour")) >= 50
    assert {row["decision"] for row in runs("slower_neighbour")} <= {"fail", "not measurable"}
    # The statistic alone would have caught every one.
    assert {row["without_foreign_rule"] for row in runs("slower_neighbour")} == {"fail"}


def test_a_true_ratio_at_the_threshold_never_failed():
    assert len(runs("threshold")) >= 40 and {row["decision"] for row in runs("threshold")} == {"pass"}


def test_arms_exchanged_gave_the_reciprocal_within_a_percent():
    assert len(runs("reversed")) >= 15 and all(abs(row["product"] - 1) < 0.01 for row in runs("reversed"))


def test_kernels_of_two_microseconds_to_sixty_milliseconds_equal_themselves():
    times = sorted(row["baseline_us"] for row in runs("durations"))
    assert times[0] < 5 and times[-1] > 50_000
    assert all(abs(row["ratio"] - 1) < 0.01 for row in runs("durations"))


def test_an_empty_kernel_equals_itself():
    ratios = [row["ratio"] for row in runs("aa_idle") if row["kernel"] == "nothing"]
    assert len(ratios) >= 10 and all(abs(ratio - 1) < 0.05 for ratio in ratios)


def test_what_tampers_with_time_gained_nothing():
    rows = PARTS["attacks"]["runs"]
    assert len(rows) >= 14 and all(row["as_expected"] for row in rows)
    gained = [row["id"] for row in rows if row["timing"] and row["timing"]["ratio"] > 1.05]
    assert gained == []


def test_the_statistic_of_today_gives_what_was_recorded():
    with np.load(H200 / "timing_traces.npz") as arrays:
        for part in ("aa_idle", "aa_neighbour"):
            for kernel in KERNELS:
                if f"{part}.{kernel}" not in arrays.files:
                    continue
                recorded = [row for row in runs(part) if row["kernel"] == kernel]
                for row, (baseline, student) in zip(recorded, arrays[f"{part}.{kernel}"], strict=True):
                    assert statistics_of([trace_of(baseline, student)]).ratio == pytest.approx(row["ratio"], abs=2e-5)


def test_every_answer_of_the_course_gets_one_verdict_on_simulator_and_gpu():
    assert len(COURSE["rows"]) >= 88
    assert [row for row in COURSE["rows"] if row["simulator"]["verdict"] != row["gpu"]["verdict"]] == []


def test_goals_that_are_decided_on_both_agree():
    found = agreement(COURSE["rows"])
    assert found["goals_decided_on_both"] >= 50
    assert len(found["goals_that_differ"]) <= 0.01 * found["goals_decided_on_both"]


def test_speed_goals_decided_by_estimate_and_by_measurement_agree():
    """At most 1 % may differ, and at least eight must be decided on both sides."""
    found = agreement(COURSE["rows"])
    decided = found["speed_goals_decided_on_both"]
    assert len(decided) >= 8 and {row[2] for row in decided.values()} == {"met", "missed"}
    assert len(found["speed_goals_that_differ"]) <= 0.01 * len(decided)


def test_estimates_at_made_up_thresholds_agree_but_for_two():
    """More thresholds than the course's goals have, from 0.5 to 8; those that differ are listed."""
    found = agreement(COURSE["rows"])
    assert found["estimates_decided_at_virtual_thresholds"] >= 70
    assert [row[:3] for row in found["of_these_wrong"]] == [
        ["tiling.stencil", "solution", 0.75],
        ["thread_mapping.gridstride", "right every_warp_all", 0.5],
    ]


def test_every_timed_answer_could_be_measured():
    timings = [row["gpu"]["timing"] for row in COURSE["rows"] if row["gpu"]["timing"]]
    assert len(timings) >= 10
    assert all(timing["problem"] == timing["suspect"] == "" and timing["pairs_dropped"] == 0 for timing in timings)
