"""From rounds of a device to goals, verdict and words: what a timing earns, and what speaks against it."""

from dataclasses import replace

import numpy as np
import pytest

from grader.answers import submit
from grader.batch.run import is_final
from grader.devices.base import DeviceLost, DeviceMissing
from grader.exercises import exercise
from grader.hidden import NO_SEEDS
from grader.model import Goal, GoalState, Timed, Verdict
from grader.pipeline import grade
from grader.report.card import card
from grader.report.json_form import from_json, to_json
from grader.report.markdown import markdown
from grader.report.speed import duration_text, timing_rows, timing_text
from grader.report.text import text
from grader.timing.calibration import Calibrated, Calibration, save_calibration
from grader.timing.contents import fresh_inputs
from grader.timing.lock import GpuBusy
from grader.timing.plan import schedule
from grader.timing.trace import CheckedLaunch, Surroundings
from simt.events import Direction
from tests.grader.fake import FakeDevice
from tests.grader.timing.traces import BASE_NS, Rounds, trace_of

N = 1 << 12
SOURCE = """extern "C" __global__ void solve(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * x[i] + 1.0f;
}"""
ROW = replace(
    exercise("selftest.map"),
    timed=Timed({"n": N}),
    goals=(Goal("speedup", 1.5, True, 3.0, "faster"), Goal("speedup", 3.0, True, 2.0, "much faster")),
)


class TimingDevice(FakeDevice):
    """The fake with rounds; `wrong` spoils the outputs of the checked launches, `problem` is raised instead."""

    def __init__(self, rounds, wrong=False, problem=None, **more):
        super().__init__(lambda x, y, n: {"y": x * x + 1}, capabilities=frozenset({"counters", "timing", "sm_80"}))
        self.rounds, self.wrong, self.problem, self.more = rounds, wrong, problem, more

    def time(self, pair, plan):
        if self.problem:
            raise self.problem
        trace = self.rounds(plan.fresh_process)
        inputs = {a.name: a.value for a in pair.arguments if a.direction is not Direction.OUT}
        checked = []
        for index, step in enumerate(schedule(plan)):
            if step.verified:
                x = fresh_inputs(inputs, pair.fresh, step.nonce, 0)["x"]
                checked.append(CheckedLaunch(index, 0, {"y": x * x + np.float32(1 + self.wrong)}))
        return replace(trace, checked=tuple(checked), seed=plan.seed, device="Some GPU", driver="1", **self.more)


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("WARPWISE_CACHE", str(tmp_path))


def graded(device, launch=None, row=ROW):
    return grade(submit(row, SOURCE, launch), row, device, hidden=NO_SEEDS)


def states(report):
    return [goal.state for goal in report.goals]


def test_a_measured_ratio_decides_each_threshold():
    report = graded(TimingDevice(Rounds("quiet", 2.0, 1)))
    assert report.verdict is Verdict.PASS and states(report) == [GoalState.MET, GoalState.MISSED]
    assert (report.score, report.max_score) == (4.0, 6.0)
    timing = report.timing
    assert timing.low <= timing.ratio <= timing.high and timing.ratio == pytest.approx(2.0, rel=0.01)
    assert timing.baseline_ns == pytest.approx(BASE_NS, rel=0.01) and timing.sizes == {"n": N}
    assert timing.rounds == 2  # one, and its repetition before anything is missed


def test_a_wrong_output_of_a_timed_launch_is_a_wrong_answer():
    report = graded(TimingDevice(Rounds("quiet", 9.0, 1), wrong=True))
    assert report.verdict is Verdict.WRONG_ANSWER and report.score == 0
    assert "in a timed launch: y[0]" in report.diagnostics[0].message


def test_what_cannot_be_measured_now_leaves_the_maximum_and_says_why():
    report = graded(TimingDevice(Rounds("quiet", 0.2, 1, foreign=1)))
    assert states(report) == [GoalState.NOT_MEASURED] * 2 and report.passed
    assert (report.score, report.max_score) == (1.0, 1.0)
    assert "not measurable now: 1 other process used the GPU" in text(report)


def test_what_could_not_be_measured_is_tried_again_by_the_next_run():
    disturbed, quiet = (graded(TimingDevice(Rounds("quiet", 2.0, 1, foreign=n))) for n in (1, 0))
    assert not is_final(to_json(disturbed)) and is_final(to_json(quiet))
    untimed = to_json(graded(FakeDevice(lambda x, y, n: {"y": x * x + 1})))
    assert is_final(untimed) and not is_final(untimed | {"verdict": "internal_error"})


def test_faster_than_physics_earns_nothing_until_it_was_looked_at():
    report = graded(TimingDevice(Rounds("quiet", 5.0, 1), peak_bandwidth=1e6))
    assert states(report) == [GoalState.MISSED] * 2 and not report.passed
    assert "suspect" in timing_text(report.timing) and "must move" in report.timing.suspect


def test_what_still_lies_in_the_cache_need_not_have_moved():
    needed = 2 * 4 * N  # x and y; a cache that holds y leaves x
    peak = 0.75 * needed / (BASE_NS / 5 * 1e-9) / 1.05  # three quarters of what the kernel seems to reach
    rounds = Rounds("quiet", 5.0, 1)
    assert graded(TimingDevice(rounds, peak_bandwidth=peak)).timing.suspect
    assert not graded(TimingDevice(rounds, peak_bandwidth=peak, l2_bytes=1 << 20)).timing.suspect


def calibrated(off=(), baseline_ns=BASE_NS):
    row = Calibrated({"n": N}, baseline_ns, 2.0, 1.0, {f"{limit:g}": "too near" for limit in off})
    save_calibration(Calibration("Some GPU", "1", "2026-11-30", 4000.0, 40_000.0, {ROW.id: row}))


def test_a_threshold_that_does_not_hold_on_this_gpu_decides_nothing():
    calibrated(off=(3.0,))
    report = graded(TimingDevice(Rounds("quiet", 2.0, 1)))
    assert states(report) == [GoalState.MET, GoalState.NOT_MEASURED] and report.max_score == 4.0
    assert "do not hold on this GPU" in text(report)
    assert report.timing.rounds == 1  # the threshold that is off asks for no repetition


def test_the_share_of_what_the_device_reaches_follows_from_its_calibration():
    assert graded(TimingDevice(Rounds("quiet", 2.0, 1))).timing.share is None
    calibrated()
    timing = graded(TimingDevice(Rounds("quiet", 2.0, 1))).timing
    assert timing.rate == pytest.approx(8 * N / timing.student_ns) and timing.rate_unit == "GB/s"
    assert timing.share == pytest.approx(timing.rate / 4000.0)


def test_a_baseline_that_is_not_itself_fails_nobody():
    calibrated(baseline_ns=1.3 * BASE_NS)
    report = graded(TimingDevice(Rounds("quiet", 0.5, 1)))
    assert states(report) == [GoalState.NOT_MEASURED] * 2 and "calibrated" in report.timing.problem


def test_work_is_counted_in_flops_where_the_exercise_says_so():
    row = replace(ROW, timed=Timed({"n": N}, flops="2 * n"))
    timing = graded(TimingDevice(Rounds("quiet", 2.0, 1)), row=row).timing
    assert timing.rate == pytest.approx(2 * N / timing.student_ns) and timing.rate_unit == "GFLOP/s"


def test_a_launch_that_does_not_fit_the_timed_sizes_is_refused():
    row = replace(ROW, timed=Timed({"n": 1 << 24}))
    report = graded(TimingDevice(Rounds("quiet", 2.0, 1)), {"grid": (1, "n"), "block": 1}, row)
    assert report.verdict is Verdict.LAUNCH_REJECTED


LOST = {
    "no result within 60 s": (DeviceLost("no result within 60 s", timed_out=True), Verdict.TIMEOUT),
    "it died": (DeviceLost("it died"), Verdict.RUNTIME_ERROR),
}


@pytest.mark.parametrize("how", LOST)
def test_a_process_that_is_lost_in_the_timing_twice_is_a_verdict(how):
    problem, verdict = LOST[how]
    report = graded(TimingDevice(None, problem=problem))
    assert report.verdict is verdict and report.score == 0
    assert "the timed case" in report.diagnostics[0].message and how in report.diagnostics[0].message


@pytest.mark.parametrize("how", LOST)
def test_a_process_that_is_lost_once_says_nothing_about_a_kernel(how):
    class OnceLost(TimingDevice):
        asked = ()

        def time(self, pair, plan):
            self.asked += (plan.fresh_process,)
            if len(self.asked) == 1:
                raise LOST[how][0]
            return super().time(pair, plan)

    device = OnceLost(Rounds("quiet", 4.0, 1))
    report = graded(device)
    assert report.verdict is Verdict.PASS and states(report) == [GoalState.MET] * 2
    assert device.asked == (False, True)


@pytest.mark.parametrize(
    "problem",
    [
        GpuBusy("the GPU was in use"),
        DeviceLost("the worker did not start", at_start=True),
        DeviceMissing("this GPU is marked down"),
    ],
)
def test_a_device_that_cannot_time_just_then_leaves_the_verdict_and_is_asked_again(problem):
    report = graded(TimingDevice(None, problem=problem))
    assert report.verdict is Verdict.PASS and states(report) == [GoalState.NOT_MEASURED] * 2
    assert str(problem) in text(report, width=200) and not is_final(to_json(report))


def test_an_estimate_whose_process_is_lost_is_none_and_no_verdict():
    device = TimingDevice(None, problem=DeviceLost("no result within 60 s", timed_out=True))
    device.capabilities = frozenset({"counters", "estimates", "sm_80"})
    report = graded(device)
    assert report.verdict is Verdict.PASS and states(report) == [GoalState.NOT_MEASURED] * 2


def slow_round(fresh):
    """Three pairs, of which each took five seconds."""
    several = np.full(3, 1980.0)
    return trace_of(np.full(3, BASE_NS), np.full(3, 5e9), baseline_mhz=several, student_mhz=several)


class SlowDevice(TimingDevice):
    def time(self, pair, plan):
        return super().time(pair, replace(plan, pairs=3))


def test_a_right_kernel_of_which_few_launches_fit_into_the_time_keeps_its_verdict_and_misses_the_goal():
    report = graded(SlowDevice(slow_round))
    assert report.verdict is Verdict.PASS and states(report) == [GoalState.MISSED] * 2 and report.score == 1.0
    assert (report.timing.pairs_used, report.timing.rounds, report.timing.problem) == (3, 2, "")
    said = "a launch of 5 s is so slow that there was time for 3 pairs"
    assert said in " ".join(text(report).split()) and said in markdown(report) and said in card(report)
    assert is_final(to_json(report)) and from_json(to_json(report)) == report


def test_a_wrong_output_of_one_of_few_launches_is_a_wrong_answer():
    assert graded(SlowDevice(slow_round, wrong=True)).verdict is Verdict.WRONG_ANSWER


def test_clocks_that_drop_every_pair_are_said_and_asked_for_again():
    report = graded(TimingDevice(Rounds("quiet", 2.0, 1, clocks=np.full(40, 1000.0))))
    assert states(report) == [GoalState.NOT_MEASURED] * 2 and not is_final(to_json(report))
    assert "the SM clock changed within 40 of 40 pairs" in text(report, width=200)


def test_a_speed_up_is_shown_where_no_goal_asks_for_it():
    report = graded(TimingDevice(Rounds("quiet", 2.0, 1)), row=replace(ROW, goals=()))
    assert report.timing and report.passed and report.timing.rounds == 1


def test_views_say_what_a_timing_rests_on():
    calibrated()
    report = graded(TimingDevice(Rounds("quiet", 2.0, 1), after=Surroundings(memory_mhz=3201)))
    rows, timing = dict(timing_rows(report.timing)), report.timing
    assert list(rows) == ["median launch", "sizes", "pairs", "clocks", "rate"]
    assert (
        rows["median launch"]
        == f"yours {duration_text(timing.student_ns)}, baseline {duration_text(timing.baseline_ns)}"
    )
    assert rows["sizes"] == f"n = {N}" and rows["clocks"] == "SM 1980 MHz, memory 3201 MHz"
    assert rows["rate"] == f"{timing.rate:,.0f} GB/s, {100 * timing.share:.0f} % of what this GPU was measured to reach"
    assert rows["pairs"] == "40 used, 0 dropped, 2 rounds"
    assert timing_text(timing).startswith(f"{timing.ratio:.3f}".rstrip("0") + "x the baseline (")
    for shown in (markdown(report), card(report), text(report, width=200)):
        assert all(value in shown for value in (timing_text(timing), *rows.values()))


def test_json_gives_every_number_that_a_timing_rests_on():
    calibrated(off=(3.0,))
    timing = to_json(graded(TimingDevice(Rounds("quiet", 2.0, 1), after=Surroundings(memory_mhz=3201))))["timing"]
    numbers = "ratio low high baseline_ns student_ns pairs_used floor_ns clock_mhz memory_mhz rate share".split()
    assert all(timing[name] > 0 for name in numbers) and timing["low"] <= timing["ratio"] <= timing["high"]
    assert (timing["pairs_dropped"], timing["rounds"], timing["copies"]) == (0, 1, 1)
    assert (timing["basis"], timing["device"], timing["sizes"]) == ("measured", "Some GPU", {"n": N})
    assert timing["off"] == [3.0] and timing["rate_unit"] == "GB/s" and not timing["problem"] + timing["suspect"]


def test_that_a_gpu_was_never_calibrated_is_said_in_place_of_the_share():
    assert (
        "has not been measured (calibrate)"
        in dict(timing_rows(graded(TimingDevice(Rounds("quiet", 2.0, 1))).timing))["rate"]
    )


def test_a_clock_that_was_held_back_is_said():
    hot = Surroundings(sm_mhz=1200, throttle=("power cap", "hardware thermal slowdown"))
    report = graded(TimingDevice(Rounds("quiet", 2.0, 1), after=hot))
    assert report.timing.throttle == hot.throttle
    assert "SM 1980 MHz, held back by power cap and hardware thermal slowdown" in text(report)
    assert from_json(to_json(report)) == report


@pytest.mark.parametrize(("ns", "said"), [(950.0, "950 ns"), (56_200.0, "56.2 µs"), (1.5e6, "1.5 ms"), (2e9, "2 s")])
def test_durations_have_a_fitting_unit(ns, said):
    assert duration_text(ns) == said
