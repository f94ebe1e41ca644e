"""Calibration and what `doctor` says of a GPU, over a device and an NVML of the tests."""

from dataclasses import replace

import pytest

from grader.cli import main
from grader.commands.calibrate import calibrate, margin_text
from grader.commands.status import Status
from grader.console import Output
from grader.devices import DeviceLost, DeviceMissing
from grader.doctor_gpu import describe
from grader.exercises import exercise
from grader.model import Goal
from grader.nvml import Nvml
from grader.progress import course_folder
from grader.timing.calibration import load_calibration
from grader.timing.trace import Surroundings
from grader.timing_calibrate import Margin, margin_of, margins
from tests.grader.fake import FakeDevice
from tests.grader.test_nvml import FakeNvml
from tests.grader.timing.traces import Rounds

SOLUTIONS = course_folder() / "solutions"


class Gpu(FakeDevice):
    """Times every pair with a given ratio: of the reference, or of the naive answer where its text is the student's."""

    def __init__(self, reference=1.56, naive=1.0):
        super().__init__(lambda **_: {}, name="cuda", arch="sm_90", capabilities=frozenset({"timing", "sm_90"}))
        self.reference, self.naive = reference, naive

    def time(self, pair, plan):
        ratio = self.naive if "Right, but" in pair.student.compiled.source else self.reference
        return replace(Rounds("quiet", ratio, 1)(), device="Some GPU", driver="1")


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("WARPWISE_CACHE", str(tmp_path))


def product(*limits):
    goals = tuple(Goal("speedup", limit, True, 1.0, "faster") for limit in limits)
    return replace(exercise("tiling.gemm_tiled"), goals=goals)


def test_a_threshold_with_its_margins_holds():
    margin = margin_of(Gpu(), product(1.25), SOLUTIONS)
    assert margin.reference == pytest.approx(1.56, rel=0.01) and margin.below == pytest.approx(1.0, rel=0.01)
    assert margin.off == {} and margin.thresholds == (1.25,)
    assert "goal of 1.25x holds" in margin_text(margin)


@pytest.mark.parametrize(
    ("device", "limit", "why"),
    [(Gpu(), 1.5, "the reference reaches 1.56, and 1.65"), (Gpu(naive=1.2), 1.25, "the naive answer reaches 1.2")],
)
def test_a_threshold_without_its_margins_is_off_and_says_so(device, limit, why):
    margin = margin_of(device, product(limit), SOLUTIONS)
    assert list(margin.off) == [limit] and why in margin.off[limit]
    assert f"goal of {limit:g}x is off here: {why}" in margin_text(margin)


def test_without_solutions_thresholds_stay_unchecked(tmp_path):
    margin = margin_of(Gpu(), product(1.25), tmp_path)
    assert margin.baseline_ns and margin.reference is None and margin.off == {}
    assert "unchecked" in margin_text(margin)


def test_what_takes_no_kernel_or_is_not_timed_says_so():
    rows = [exercise("tiling.predict"), exercise("hello.double_it")]
    assert [margin.note for margin in margins(Gpu(), rows, SOLUTIONS)] == ["takes no kernel", "nothing is timed"]


def test_the_command_shows_each_exercise_and_stores_all(capsys):
    names = ["tiling.gemm_tiled", "thread_mapping.map1d", "tiling.predict"]
    assert calibrate(Gpu(), names, Output(False)) is Status.PASSED
    said = capsys.readouterr().err
    assert "Some GPU" in said and all(name in said for name in names) and "no speed goal" in said
    found = load_calibration("Some GPU", "1")
    assert set(found.exercises) == set(names[:2]) and found.copy_gbs > 0 and found.gflops > 0
    calibrate(Gpu(), ["tiling.stencil"], Output(True))
    assert set(load_calibration("Some GPU", "1").exercises) == {*names[:2], "tiling.stencil"}


class Lost(Gpu):
    """Ends in the middle of every exercise, but not of the device's limits."""

    def time(self, pair, plan):
        if pair.student.compiled.kernel not in ("copy", "multiply_add"):
            raise DeviceLost("it died")
        return super().time(pair, plan)


def test_a_lost_device_costs_one_exercise(capsys):
    assert calibrate(Lost(), ["tiling.stencil", "tiling.when_not"], Output(False)) is Status.PASSED
    assert capsys.readouterr().err.count("lost the device: it died") == 2


class Disturbed(Gpu):
    """Somebody else computes on it while exercises are timed."""

    def time(self, pair, plan):
        beside = Surroundings(foreign=int(pair.student.compiled.kernel not in ("copy", "multiply_add")))
        return replace(super().time(pair, plan), after=beside)


def test_a_disturbed_time_is_said_and_not_kept_as_a_baseline(capsys):
    assert calibrate(Disturbed(), ["tiling.gemm_tiled"], Output(False)) is Status.NOT_PASSED
    said = " ".join(capsys.readouterr().err.split())
    assert "tiling.gemm_tiled: not measurable now: 1 other process used the GPU meanwhile" in said
    assert load_calibration("Some GPU", "1").exercises == {}


def test_without_a_gpu_the_command_says_so_and_leaves_with_3(monkeypatch, capsys):
    def missing(self):
        raise DeviceMissing("no GPU here")

    monkeypatch.setattr("grader.worker.host.WorkerDevice.start", missing)
    assert main(["calibrate"]) == 3
    assert "no GPU here" in capsys.readouterr().err


def test_margins_in_words():
    assert margin_text(Margin("a.b", note="nothing is timed")) == "nothing is timed"
    assert margin_text(Margin("a.b", {"n": 1}, 56_000.0)) == "baseline 56 µs; no speed goal"


def finding(**given):
    gpu = Nvml(FakeNvml(**given), "gpu 0")
    return describe("sm_90", gpu.facts(), gpu.surroundings((7,)))


def test_doctor_shows_clocks_partitions_and_the_next_step():
    found = finding(processes=(7,))
    assert found.health.word == "ok" and "calibrate" in found.next_step
    for words in ("NVIDIA H200, sm_90", "SM clock 1755 MHz of 1980", "MIG off", "41 °C", "compute mode default"):
        assert words in found.says
    assert found.facts["uuid"] == "GPU-1" and found.facts["foreign"] == 0


@pytest.mark.parametrize(
    ("given", "words"),
    [({"reasons": 4}, "held back by power cap"), ({"processes": (7, 8, 9)}, "in use by 2 other processes")],
)
def test_doctor_says_what_disturbs_a_timing(given, words):
    found = finding(**given)
    assert found.health.word == "limited" and words in found.says and "not measurable" in found.nevertheless
