"""The CUDA part of the timing over a CuPy of the tests: what surrounds a launch and what is read from it."""

import sys

import numpy as np
import pytest

from grader.devices import cuda_timing
from grader.devices.cuda import Cuda
from grader.devices.cuda_memory import GUARD_BYTES
from grader.exercises import exercise
from grader.measure import timed_case, timed_pair, verified_round
from grader.model import Compiled, Resources, Timed, TimedKernel, TimingPair, TimingPlan
from grader.notebook.literals import launch_spec
from grader.timing.plan import schedule
from grader.timing.statistics import statistics_of
from simt.arch import arch
from simt.events import Argument, Direction
from simt.launch import Dim3, LaunchConfig
from tests.grader.timing.fake_cupy import CudaError, FakeCupy, array_at

N = 1000
CONFIG = LaunchConfig(Dim3(4), Dim3(256))
PLAN = TimingPlan(seed=5, warm_up_ms=0)


def compiled(name):
    return Compiled("", name.encode(), "solve", "sm_90", Resources(16, 0, 0, 0), "", name, "")


TOOLS = compiled("tools")


def kernel(ns, seen=None, spoil=False, end=0):
    """y = x² + 1 in `ns`; `seen` collects the first x and y of each launch; `end` writes so many bytes past y."""

    def run(x, y, n):
        source, target = array_at(x, int(n), np.float32), array_at(y, int(n), np.float32)
        if seen is not None:
            seen.append((float(source[0]), float(target[0])))
        target[:] = source * source + np.float32(1 + spoil)
        if end:
            array_at(int(y) + 4 * int(n), end, np.uint8)[:] = 0
        return ns

    return run


def cuda(monkeypatch, base, student, **fake):
    monkeypatch.setitem(sys.modules, "cupy", FakeCupy({b"base": base, b"student": student}, **fake))
    return Cuda()


def pair(n=N):
    x = np.linspace(0.5, 1.5, n).astype(np.float32)
    arguments = (
        Argument("x", Direction.IN, x), Argument("y", Direction.OUT, np.zeros_like(x)),
        Argument("n", Direction.SCALAR, np.int32(n)),
    )  # fmt: skip
    arms = [TimedKernel(compiled(name), CONFIG) for name in ("base", "student")]
    return TimingPair(arms[0], arms[1], arguments, ("x",), TOOLS)


def test_a_round_reads_the_time_of_each_arm(monkeypatch):
    trace = cuda(monkeypatch, kernel(60_000.0), kernel(40_000.0)).time(pair(), PLAN)
    statistics = statistics_of([trace])
    assert statistics.ratio == pytest.approx(1.5) and statistics.used == 40 and statistics.copies == 1
    assert statistics.floor_ns == pytest.approx(3000.0) and len(trace.floor_ns) == 5
    assert statistics.clock_mhz == pytest.approx(1980.0) and trace.device == "Some GPU"


def test_every_launch_sees_new_inputs_and_poison_and_both_halves_the_same(monkeypatch):
    base, student = [], []
    cuda(monkeypatch, kernel(6e4, base), kernel(4e4, student)).time(pair(), PLAN)
    base, student = base[-40:], student[-40:]
    assert [x for x, _ in base] == [x for x, _ in student]
    assert len({x for x, _ in base}) > 35 and all(abs(x - 0.5) < 1e-3 for x, _ in base)
    assert all(np.isnan(y) for _, y in (*base, *student))


def test_what_the_kernel_before_left_in_an_sm_is_gone_before_each_launch(monkeypatch):
    device = cuda(monkeypatch, kernel(6e4), kernel(4e4))
    device.time(pair(), PLAN)
    launched = device.cp.launched
    names = [name for name, _ in launched]
    starts = [index for index, name in enumerate(names) if name == "kernel"]
    assert len(starts) >= 80
    for index in starts:
        # The flush comes after the scrub, and nothing but the stamp between it and the kernel.
        assert names[index - 3 : index] == ["scrub", "fill", "stamp"]
    whole = arch(device.arch).max_shared_bytes_per_block
    assert {shared for name, shared in launched if name == "scrub"} == {whole} == {device.cp.shared_limits["scrub"]}


def test_a_short_kernel_is_timed_by_several_copies_at_once(monkeypatch):
    trace = cuda(monkeypatch, kernel(25_000.0), kernel(20_000.0)).time(pair(), PLAN)
    statistics = statistics_of([trace])
    assert statistics.copies == 3  # one and a half times ten floors of 3 µs in launches of 20 µs
    assert statistics.ratio == pytest.approx(1.25) and statistics.student_ns == pytest.approx(20_000.0)


def test_a_slow_kernel_gets_fewer_pairs_and_the_parent_knows_which(monkeypatch):
    monkeypatch.setattr(cuda_timing, "monotonic", iter(np.arange(0.0, 1000.0, 0.5)).__next__)
    trace = cuda(monkeypatch, kernel(6e4), kernel(6e8)).time(pair(), PLAN)
    assert trace.student_ns.size == 20  # of half a second each, in fifteen seconds, beside ten that do not count
    chosen = [index for index, step in enumerate(schedule(TimingPlan(pairs=20, seed=PLAN.seed))) if step.verified]
    assert [launch.sample for launch in trace.checked] == chosen
    monkeypatch.setattr(cuda_timing, "monotonic", iter(np.arange(0.0, 10_000.0, 5.0)).__next__)
    assert cuda(monkeypatch, kernel(6e4), kernel(6e8)).time(pair(), PLAN).student_ns.size == 10


def test_clocks_are_those_of_the_two_halves(monkeypatch):
    trace = cuda(monkeypatch, kernel(6e4), kernel(6e4), clock_mhz=[*[2000.0] * 200, 1000.0]).time(pair(), PLAN)
    assert trace.baseline_mhz.min() == 1000.0 and statistics_of([trace]).used <= 40


def test_a_write_past_the_end_is_seen_in_a_checked_launch(monkeypatch):
    trace = cuda(monkeypatch, kernel(6e4), kernel(6e4, end=4096)).time(pair(), PLAN)
    assert {finding.check for finding in trace.findings} == {"memcheck.global.write-oob"}
    assert GUARD_BYTES > 4096


def test_an_error_of_the_driver_leaves_a_finding_and_a_spent_device(monkeypatch):
    def stopped(x, y, n):
        raise CudaError("CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered")

    device = cuda(monkeypatch, kernel(6e4), stopped)
    trace = device.time(pair(), PLAN)
    assert device.spent and trace.baseline_ns.size == 0
    assert trace.findings[0].check == "memcheck.global.read-oob"


@pytest.mark.parametrize(("spoil", "wrong"), [(False, False), (True, True)])
def test_checked_launches_are_verified_against_contents_made_again(monkeypatch, spoil, wrong):
    from dataclasses import replace

    row = replace(exercise("selftest.map"), timed=Timed({"n": N}))
    spec = launch_spec({"grid": "ceil_div(n, 256)", "block": 256})
    device = cuda(monkeypatch, kernel(2e4), kernel(2e4, spoil=spoil))
    found, prepared = timed_pair(row, timed_case(row), (compiled("base"), spec), (compiled("student"), spec))
    trace = device.time(replace(found, tools=TOOLS), PLAN)
    assert len(trace.checked) in (4, 5) and any(launch.copy for launch in trace.checked)
    findings = verified_round(row, found, prepared, trace)
    assert bool(findings) is wrong
    assert not wrong or "in a timed launch: y[0]" in findings[0].message
