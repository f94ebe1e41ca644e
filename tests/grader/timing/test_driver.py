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
from grader.timing.decision import is_far_below
from grader.timing.lock import lock_path
from grader.timing.plan import schedule
from grader.timing.statistics import statistics_of
from grader.timing.trace import Surroundings
from grader.worker.host import TIMING_SECONDS
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


@pytest.mark.parametrize(("l2_bytes", "flushed"), [(1 << 20, 64 << 20), (50 << 20, 100 << 20)])
def test_the_flush_is_twice_the_l2_cache_and_writes_other_data_each_time(monkeypatch, l2_bytes, flushed):
    device = cuda(monkeypatch, kernel(6e4), kernel(4e4))
    device.l2_bytes = l2_bytes
    device.time(pair(), PLAN)
    assert {size for size, _ in device.cp.fills} == {flushed}
    nonces = [nonce for _, nonce in device.cp.fills]
    assert len(set(nonces)) == len(nonces) > 2 * 40


def test_each_kernel_is_warmed_up_five_times_and_for_a_fifth_of_a_second(monkeypatch):
    for warm_up_ms, at_least in ((0.0, 5), (200.0, 50)):
        clock, launches = Clock(monkeypatch), {"base": 0, "student": 0}

        def counted(name, ns, launches=launches):
            def run(x, y, n):
                launches[name] += 1
                return kernel(ns)(x, y, n)

            return run

        device = clock.of(cuda(monkeypatch, counted("base", 2e6), counted("student", 2e6)))
        device.time(pair(8), TimingPlan(seed=5, warm_up_ms=warm_up_ms))
        assert min(launches.values()) >= 40 + at_least


def test_clocks_throttling_and_other_processes_are_read_before_and_after_the_pairs(monkeypatch):
    device = cuda(monkeypatch, kernel(6e4), kernel(4e4))
    seen = iter([Surroundings(sm_mhz=1980, foreign=1), Surroundings(sm_mhz=1200, throttle=("power cap",))])
    monkeypatch.setattr(type(device), "surroundings", lambda self: next(seen))
    trace = device.time(pair(), PLAN)
    assert trace.before == Surroundings(sm_mhz=1980, foreign=1) and trace.after.throttle == ("power cap",)


def test_the_order_of_each_pair_is_drawn_and_a_tenth_and_the_last_are_verified():
    steps = [schedule(TimingPlan(pairs=40, seed=seed)) for seed in range(50)]
    firsts = [step.order[0] for plan in steps for step in plan]
    assert 0.4 < np.mean(firsts) < 0.6 and {step.order for plan in steps for step in plan} == {(0, 1), (1, 0)}
    assert all(sum(step.verified for step in plan) in (4, 5) and plan[-1].verified for plan in steps)
    assert len({index for plan in steps for index, step in enumerate(plan) if step.verified}) > 30
    assert [index for index, step in enumerate(steps[0]) if step.floor] == [0, 8, 16, 24, 32]


def test_a_short_kernel_is_timed_by_several_copies_at_once(monkeypatch):
    trace = cuda(monkeypatch, kernel(25_000.0), kernel(20_000.0)).time(pair(), PLAN)
    statistics = statistics_of([trace])
    assert statistics.copies == 3  # one and a half times ten floors of 3 µs in launches of 20 µs
    assert statistics.ratio == pytest.approx(1.25) and statistics.student_ns == pytest.approx(20_000.0)


class Clock:
    """The seconds of a GPU of the tests: its kernels take them, and so does the writing of what they print."""

    def __init__(self, monkeypatch):
        self.printing, self.fake = 0.0, None
        monkeypatch.setattr(cuda_timing, "monotonic", lambda: self.fake.now_ns / 1e9 + self.printing)
        monkeypatch.setattr(cuda_timing, "process_time", lambda: self.printing)

    def of(self, device):
        self.fake = device.cp
        return device

    def printing_for(self, seconds, work):
        """`work`, of whose text the driver writes for `seconds` once a launch has ended."""

        def run(x, y, n):
            self.printing += seconds
            return work(x, y, n)

        return run


def timed_in_seconds(monkeypatch, baseline_s, student_s, printing_s=0.0):
    """(trace, seconds of the whole round) of two kernels."""
    clock = Clock(monkeypatch)
    student = clock.printing_for(printing_s, kernel(1e9 * student_s))
    device = clock.of(cuda(monkeypatch, kernel(1e9 * baseline_s), student))
    trace = device.time(pair(), PLAN)
    return trace, cuda_timing.monotonic()


def test_a_slow_kernel_gets_fewer_pairs_and_the_parent_knows_which(monkeypatch):
    trace, _ = timed_in_seconds(monkeypatch, 0.2, 0.3)
    assert trace.student_ns.size == 20  # of half a second each, in fifteen seconds, beside ten that do not count
    chosen = [index for index, step in enumerate(schedule(TimingPlan(pairs=20, seed=PLAN.seed))) if step.verified]
    assert [launch.sample for launch in trace.checked] == chosen
    trace, seconds = timed_in_seconds(monkeypatch, 0.6, 0.8)
    assert trace.student_ns.size == 10 and seconds < 30


@pytest.mark.parametrize(
    ("launch_s", "pairs", "at_most_s"),
    [(0.006, 10, 1), (1.4, 10, 25), (2.9, 3, 15), (5.0, 3, 26), (9.5, 2, 40), (20.0, 1, 41), (25.0, 1, 51)],
)
def test_a_kernel_far_slower_than_the_baseline_gets_few_pairs_and_a_round_always_ends(
    launch_s, pairs, at_most_s, monkeypatch
):
    trace, seconds = timed_in_seconds(monkeypatch, 60e-6, launch_s)
    assert trace.student_ns.size == trace.baseline_ns.size == trace.student_mhz.size == pairs
    assert seconds < at_most_s < TIMING_SECONDS
    assert trace.checked[-1].sample == pairs - 1
    statistics = statistics_of([trace])
    assert statistics.student_ns == pytest.approx(1e9 * launch_s) and is_far_below(statistics, [1.0])


def test_a_kernel_that_is_slow_only_now_and_then_ends_its_round_too(monkeypatch):
    clock, launches = Clock(monkeypatch), []

    def student(x, y, n):
        launches.append(kernel(0.0)(x, y, n))
        return 7e9 if len(launches) > 20 and len(launches) % 3 == 0 else 60_000.0

    trace = clock.of(cuda(monkeypatch, kernel(60_000.0), student)).time(pair(), PLAN)
    assert trace.student_ns.size < 40 and cuda_timing.monotonic() < 45
    assert trace.checked[-1].sample == trace.student_ns.size - 1


def test_what_a_kernel_printed_belongs_to_its_time_once_writing_it_is_most_of_the_sample(monkeypatch):
    trace, seconds = timed_in_seconds(monkeypatch, 60e-6, 50e-6, printing_s=3.0)
    assert trace.student_ns.size == 3 and seconds < 16
    assert statistics_of([trace]).student_ns == pytest.approx(3e9, rel=1e-3)
    trace, _ = timed_in_seconds(monkeypatch, 60e-6, 40e-6, printing_s=0.001)
    assert trace.student_ns.size == 40 and statistics_of([trace]).ratio == pytest.approx(1.5)


def test_copies_of_a_short_baseline_do_not_make_a_slow_kernel_slower(monkeypatch):
    trace, seconds = timed_in_seconds(monkeypatch, 5e-6, 0.2)
    assert trace.copies == 2 and seconds < 12
    assert is_far_below(statistics_of([trace]), [1.0])


def test_the_contents_of_a_sample_follow_from_its_number_however_many_there_are():
    """A round that ends early is verified by the numbers of its samples."""
    whole = [step.nonce for step in schedule(TimingPlan(pairs=40, seed=77))]
    for pairs in (1, 3, 10, 39):
        assert [step.nonce for step in schedule(TimingPlan(pairs=pairs, seed=77))] == whole[:pairs]


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


def test_a_gpu_whose_uuid_nobody_tells_has_a_lock_by_its_address(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)  # as where it is not installed
    device = cuda(monkeypatch, kernel(6e4), kernel(6e4))
    assert device.uuid == "GPU-at-0000:01:00.0" == device.time(pair(), PLAN).uuid
    assert "0000_01_00" in lock_path(device.uuid).name


def test_too_little_memory_on_the_gpu_is_no_fault_of_a_kernel(monkeypatch):
    def full(x, y, n):
        raise CudaError("CUDA_ERROR_OUT_OF_MEMORY: out of memory")

    device = cuda(monkeypatch, kernel(6e4), full)
    with pytest.raises(MemoryError, match="too little memory left"):
        device.time(pair(), PLAN)
    assert device.spent
    with pytest.raises(MemoryError):
        device.run(compiled("student"), CONFIG, pair().arguments)


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
