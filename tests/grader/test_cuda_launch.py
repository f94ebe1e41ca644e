"""Launches through a CuPy of the tests: structures by value as cuLaunchKernel gets them, and how long a run took."""

import ctypes
import os
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from grader.answers import submit
from grader.devices import cuda
from grader.devices.checked import Checked
from grader.devices.cuda_launch import by_value, start_by_address
from grader.exercises import exercise
from grader.hidden import NO_SEEDS
from grader.model import Compiled, Resources, Verdict
from grader.pipeline import grade
from simt.events import Argument, Direction, Status
from simt.launch import Dim3, LaunchConfig
from tests.grader.fake import FakeDevice
from tests.grader.timing.fake_cupy import FakeCupy, array_at

MAP = replace(exercise("selftest.map"), timed=None, goals=())
HONEST = """extern "C" __global__ void solve(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * x[i] + 1.0f;
}
"""


def test_each_parameter_lies_where_the_table_says():
    seen = {}

    def launch(function, *numbers):
        *shape, stream, table, extra = numbers
        places = (ctypes.c_void_p * 4).from_address(table)
        sizes = (128, 8, 4, 8)
        seen.update(function=function, shape=shape, stream=stream, extra=extra)
        seen["values"] = [ctypes.string_at(place, size) for place, size in zip(places, sizes, strict=True)]

    cp = SimpleNamespace(cuda=SimpleNamespace(
        get_current_stream=lambda: SimpleNamespace(ptr=5), driver=SimpleNamespace(launchKernel=launch)
    ))  # fmt: skip
    values = [bytes(range(128)), np.uint64(1 << 40), np.int32(-2), 2.5]
    assert by_value(values) and not by_value(values[1:])
    start_by_address(cp, SimpleNamespace(ptr=9), LaunchConfig(Dim3(2, 3), Dim3(64), 48), values)
    assert (
        seen["function"] == 9
        and seen["shape"] == [2, 3, 1, 64, 1, 1, 48]
        and seen["stream"] == 5
        and seen["extra"] == 0
    )
    assert seen["values"] == [bytes(range(128)), *(np.asarray(v).tobytes() for v in values[1:])]


def gpu_whose_launches_take(monkeypatch, kernel, seconds):
    """A GPU of the tests that runs `kernel` whatever it is given, each launch in the next of `seconds`."""
    monkeypatch.setitem(sys.modules, "cupy", FakeCupy(SimpleNamespace(get=lambda cubin: kernel)))
    times = [moment for begun, took in enumerate(seconds) for moment in (100.0 * begun, 100.0 * begun + took)]
    monkeypatch.setattr(cuda, "monotonic", iter(times).__next__)
    return cuda.Cuda()


def squares(x, y, n):
    source, target = array_at(x, int(n), np.float32), array_at(y, int(n), np.float32)
    target[:] = source * source + np.float32(1)
    return 1000.0


def graded(hardware):
    simulator = FakeDevice(lambda x, y, n: {"y": x * x + np.float32(1)}, name="simulator")
    return grade(submit(MAP, HONEST), MAP, Checked(hardware, simulator), hidden=NO_SEEDS)


def test_a_run_takes_until_everything_is_printed_and_counts_against_the_time_of_its_cases(monkeypatch):
    def ones(y):
        array_at(y, 32, np.float32)[:] = 1
        return 1000.0

    compiled = Compiled("", b"ones", "ones", "sm_90", Resources(8, 0, 0, 0), "", "digest", "")
    arguments = (Argument("y", Direction.OUT, np.zeros(32, np.float32)),)
    hardware = gpu_whose_launches_take(monkeypatch, ones, [7.0, 2.0])
    ran = hardware.run(compiled, LaunchConfig(Dim3(1), Dim3(32)), arguments)
    assert ran.status is Status.OK and ran.seconds == {"run": 7.0}
    simulator = FakeDevice(lambda y: {"y": y * 0 + 1})
    checked = Checked(hardware, simulator).run(compiled, LaunchConfig(Dim3(1), Dim3(32)), arguments)
    assert checked.seconds["run"] == 2.0


def test_a_case_that_prints_for_longer_than_it_has_is_the_last(monkeypatch):
    """Fields of 10^9 characters take an H200 ten seconds a case."""
    report = graded(gpu_whose_launches_take(monkeypatch, squares, [10.0] * len(MAP.cases)))
    assert report.verdict is Verdict.TIMEOUT and len(report.cases) == 1
    assert "the launch took 10.0 s until all that it printed was written" in report.diagnostics[0].message
    assert "were not run after this" in report.message


def test_all_cases_together_get_the_time_of_two_and_a_second_each_after_it(monkeypatch):
    assert len(MAP.cases) > 4
    report = graded(gpu_whose_launches_take(monkeypatch, squares, [7.5, 7.5, 7.5, *[1.5] * len(MAP.cases)]))
    assert [case.verdict for case in report.cases] == [Verdict.PASS, Verdict.PASS, Verdict.TIMEOUT]
    report = graded(gpu_whose_launches_take(monkeypatch, squares, [7.5, 7.5, *[0.9] * len(MAP.cases)]))
    assert report.verdict is Verdict.PASS and len(report.cases) == len(MAP.cases)


def test_cupy_finds_a_folder_where_home_takes_none(monkeypatch):
    monkeypatch.setenv("CUPY_CACHE_DIR", "")
    monkeypatch.delenv("CUPY_CACHE_DIR")
    monkeypatch.setenv("HOME", os.devnull)
    cuda._find_cupys_cache()
    assert Path(os.environ["CUPY_CACHE_DIR"]).is_dir()
