"""Devices in processes of their own: what they send, what happens when one ends, and what they leave behind."""

import json
import os
import signal
import subprocess
import sys
import threading
import weakref
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from grader.compile import compile_text
from grader.devices import CASE_BUDGET, DeviceLost, DeviceMissing
from grader.devices.checked import Checked
from grader.model import Basis, Compiled, Resources, Timing
from grader.timing.trace import CheckedLaunch, Surroundings, Trace
from grader.worker import cpus, memory
from grader.worker.host import WorkerDevice, WorkerFailed, fresh_device
from grader.worker.wire import (
    Launch,
    WireProblem,
    pack_launch,
    pack_result,
    pack_trace,
    unpack_launch,
    unpack_result,
    unpack_trace,
)  # fmt: skip
from simt.counters import Counters
from simt.diagnostics import diagnose
from simt.events import Argument, Direction, LaunchResult, Status
from simt.launch import Dim3, LaunchConfig
from tests.grader.fake import FakeDevice
from tests.processes import PATIENCE_SECONDS, cpu_seconds, ended, wait_until

ROOT = Path(__file__).parents[2]
COPY = """extern "C" __global__ void copy(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}"""
CONFIG = LaunchConfig(Dim3(2), Dim3(64))
X = np.arange(100, dtype=np.float32)
ARGUMENTS = (
    Argument("x", Direction.IN, X), Argument("y", Direction.OUT, np.zeros_like(X)),
    Argument("n", Direction.SCALAR, np.int32(100)),
)  # fmt: skip


@pytest.fixture(scope="module")
def worker():
    device = WorkerDevice("simulator")
    yield device
    device.close()


@pytest.fixture(scope="module")
def copy():
    return compile_text(COPY, "copy", "sm_80")


def test_a_launch_survives_the_wire():
    compiled = Compiled("ptx", b"\0cubin", "k", "sm_80", Resources(8, 0, 16, 0), "", "digest", "text é")
    strided = np.arange(48, dtype=np.int16).reshape(6, 8)
    arguments = (
        Argument("a", Direction.IN, strided.T, offset_bytes=4), Argument("b", Direction.OUT, np.zeros((2, 0, 3))),
        Argument("c", Direction.SCALAR, np.float32(2.5)), Argument("d", Direction.SCALAR, 3, python_scalar=True),
        Argument("e", Direction.INOUT, strided[:, ::2], initialised=False), Argument("f", Direction.IN, X[::-1]),
    )  # fmt: skip
    config = LaunchConfig(Dim3(1, 2, 3), Dim3(4), 16, 65536, Dim3(2), True)
    launch = Launch(compiled, config, arguments, CASE_BUDGET, True, 2)
    back = unpack_launch(pack_launch(launch))
    assert replace(back, arguments=()) == replace(launch, arguments=())
    for sent, got in zip(arguments, back.arguments, strict=True):
        assert replace(sent, value=0) == replace(got, value=0)
        assert type(sent.value) is type(got.value) and np.array_equal(sent.value, got.value)
        if isinstance(sent.value, np.ndarray) and sent.value.size:
            assert sent.value.flags.c_contiguous == got.value.flags.c_contiguous
    assert back.arguments[0].value.strides == strided.T.strides


def result(**changes):
    finding = diagnose("racecheck.shared.RAW", "a race", line=3, also_line=5, block=(1, 0, 0), lanes=(1, 2), warp=0)
    known = LaunchResult(
        Status.FINDINGS, {"y": X}, Counters(instructions=3), {3: Counters(barriers=1)}, (finding,), 4, 8, 99, ("x",),
        {"y": np.arange(100)}, "printed\n", {"run": 0.5}, frozenset({"memcheck"}),
    )  # fmt: skip
    return replace(known, **changes)


RESULT_ARGUMENTS = (Argument("x", Direction.IN, X), Argument("y", Direction.OUT, np.zeros_like(X)))


def test_a_result_survives_the_wire():
    sent = result()
    got = unpack_result(pack_result(sent), RESULT_ARGUMENTS)
    assert np.array_equal(got.outputs.pop("y"), X) and np.array_equal(got.writers.pop("y"), np.arange(100))
    assert replace(got, outputs={}, writers=None) == replace(sent, outputs={}, writers=None)


def trace():
    rising = np.arange(1.0, 5.0)
    return Trace(
        rising, 2 * rising, 1000 + rising, 1000 + rising, np.array([3.0]), "some GPU", "1.2", "GPU-1", 1 << 20, 3e12, 4, 17,
        Surroundings(1980, 3201, 40, ("power cap",), 1), Surroundings(), (CheckedLaunch(3, 1, {"y": X}),),
        (diagnose("memcheck.global.write-oob", "behind the end"),),
    )  # fmt: skip


def test_a_round_survives_the_wire():
    sent, got = trace(), unpack_trace(pack_trace(trace()))
    for name in ("baseline_ns", "student_ns", "baseline_mhz", "student_mhz", "floor_ns"):
        assert np.array_equal(getattr(got, name), getattr(sent, name))
    plain = ("device", "driver", "uuid", "l2_bytes", "peak_bandwidth", "copies", "seed", "before", "after", "findings")
    assert [getattr(got, name) for name in plain] == [getattr(sent, name) for name in plain]
    assert np.array_equal(got.checked[0].outputs["y"], X) and got.checked[0].sample == 3
    assert unpack_trace(pack_trace(None)) is None


def test_an_estimate_survives_the_wire():
    estimate = Timing(2.0, 2.0, 2.0, 100.0, 50.0, Basis.ESTIMATED, "some GPU")
    assert unpack_trace(pack_trace(estimate)) == estimate
    with pytest.raises(WireProblem):
        unpack_trace(pack_trace(replace(estimate, student_ns=0.0)))


@pytest.mark.parametrize("times", [[1.0, -1.0, 1.0, 1.0], [1.0, np.nan, 1.0, 1.0], [1.0, np.inf, 1.0, 1.0], [1.0]])
def test_times_that_cannot_be_are_refused(times):
    with pytest.raises(WireProblem):
        unpack_trace(pack_trace(replace(trace(), student_ns=np.array(times))))


def test_a_child_cannot_weaken_a_finding():
    header, data = pack_result(result())
    plain = json.loads(header)
    plain["diagnostics"][0] |= {"severity": "advice", "code": "XX000"}
    (finding,) = unpack_result((json.dumps(plain).encode(), data), RESULT_ARGUMENTS).diagnostics
    assert (finding.severity, finding.code) == ("error", "RC001")


@pytest.mark.parametrize(
    "change",
    [
        {"status": "great"}, {"outputs": {"y": 99}}, {"arrays": [{"dtype": "|O", "shape": [1]}]}, {"counters": 3},
        {"arrays": [{"dtype": "<f4", "shape": [10**12]}]}, {"arrays": [{"dtype": "<f4", "shape": [-1]}]},
        {"diagnostics": [{"check": "made.up"}]}, {"by_line": {"x": {}}}, {"blocks_run": "many"}, {"writers": [1]},
        {"outputs": {"expected": 0}}, {"modified_inputs": ["z"]}, {"writers": {"z": 0}}, {"printed": 7},
        {"seconds": {"run": float("nan")}}, {"seconds": {"run": -1}}, {"blocks_run": float("inf")},
        {"arrays": [{"dtype": "<f8", "shape": [50]}]}, {"arrays": [{"dtype": "<f4", "shape": [10, 10]}]},
        {"arrays": [{"dtype": "f4,f4", "shape": [50]}]}, {"arrays": [{"dtype": "<f4", "shape": [0, 2**62]}]},
    ],
)  # fmt: skip
def test_nonsense_of_a_child_is_refused(change):
    header, data = pack_result(result())
    with pytest.raises(WireProblem):
        unpack_result((json.dumps(json.loads(header) | change).encode(), data), RESULT_ARGUMENTS)


@pytest.mark.parametrize("text", [b"", b"{", b"null", b"[" * 10**5])
def test_bytes_that_are_no_result_are_refused(text):
    with pytest.raises(WireProblem):
        unpack_result((text, b""), RESULT_ARGUMENTS)


@pytest.mark.parametrize("text", [b"{}", b'{"device": 1}', b"3", b""])
def test_bytes_that_are_no_round_are_refused(text):
    with pytest.raises(WireProblem):
        unpack_trace((text, b""))


def test_a_worker_says_how_it_is_confined(worker):
    assert "process" in worker.layers


def test_a_worker_keeps_the_engines_machine_code_for_the_next_one(tmp_path, monkeypatch, copy):
    monkeypatch.setenv("WARPWISE_CACHE", str(tmp_path))
    device = WorkerDevice("simulator")
    try:
        device.start()
        assert len(list((tmp_path / "runtime").glob("*.o"))) == 1  # before any job: a confined worker writes nothing
        assert device.run(copy, CONFIG, ARGUMENTS).status is Status.OK
    finally:
        device.close()


def test_a_killed_worker_is_replaced_for_the_next_job(worker, copy):
    assert worker.run(copy, CONFIG, ARGUMENTS).status is Status.OK
    os.kill(worker._child._process.pid, signal.SIGKILL)
    for _ in range(2):
        try:
            outcome = worker.run(copy, CONFIG, ARGUMENTS)
        except DeviceLost as lost:
            assert not lost.timed_out
    assert outcome.status is Status.OK


ENDLESS = """extern "C" __global__ void endless(float* y) { while (true) y[threadIdx.x] += 1.0f; }"""


def test_a_job_beyond_the_wall_limit_is_ended_and_said_so(monkeypatch, copy):
    monkeypatch.setattr("grader.worker.host.SPARE_SECONDS", -99.0)
    device = WorkerDevice("simulator")
    device.start()
    endless = compile_text(ENDLESS, "endless", "sm_80")
    budget = replace(CASE_BUDGET, seconds=100.0, warp_instructions=10**15)
    with pytest.raises(DeviceLost) as caught:
        device.run(endless, LaunchConfig(Dim3(1), Dim3(32)), (Argument("y", Direction.INOUT, X),), budget)
    assert caught.value.timed_out and device._child is not None and not device._child.alive
    monkeypatch.undo()
    assert device.run(copy, CONFIG, ARGUMENTS).status is Status.OK
    device.close()


def test_a_failure_of_the_workers_code_is_no_verdict(worker, copy):
    broken = replace(copy, ptx="", kernel="copy")
    argument = Argument("x", Direction.IN, np.zeros(3, np.float32))
    bad = replace(argument, direction=Direction.IN, value=object())
    with pytest.raises((WorkerFailed, TypeError)):
        worker.run(broken, CONFIG, (bad,))
    assert worker.run(copy, CONFIG, ARGUMENTS).status is Status.OK


def test_threads_of_one_process_share_a_worker(worker, copy):
    found = []

    def run():
        found.append(worker.run(copy, CONFIG, ARGUMENTS).status)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [Status.OK] * 4


def test_a_fresh_worker_ends_with_its_submission(copy):
    with fresh_device() as device:
        assert device.run(copy, CONFIG, ARGUMENTS).status is Status.OK
        process = device._child._process
    assert process.poll() is not None


def test_a_host_gives_memory_back_after_each_submission(monkeypatch):
    freed = []
    monkeypatch.setattr("grader.worker.host.give_back", lambda: freed.append(1))
    for _ in range(2):
        with fresh_device():
            pass
    assert freed == [1, 1]


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_memory_is_given_back_with_any_c_library(platform, monkeypatch):
    kept = memory._malloc_trim.__wrapped__
    monkeypatch.setattr(memory.sys, "platform", platform)
    monkeypatch.setattr(memory, "_malloc_trim", kept)
    cycle = weakref.ref(cyclic())
    memory.give_back()
    assert cycle() is None


def cyclic():
    class Ring:
        pass

    ring = Ring()
    ring.itself = ring
    return ring


def test_a_device_that_is_missing_says_so():
    with pytest.raises(DeviceMissing, match="no device is called"):
        fresh_device("simulatr").__enter__()


PARENT = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
import numpy as np
from dataclasses import replace
from grader.compile import compile_text
from grader.devices import CASE_BUDGET
from grader.worker.host import warm_device
from simt.events import Argument, Direction
from simt.launch import Dim3, LaunchConfig
device = warm_device()
device.start()
built = compile_text({ENDLESS!r}, "endless", "sm_80")
print(device._child._process.pid, flush=True)
budget = replace(CASE_BUDGET, seconds=100.0, warp_instructions=10**15)
device.run(built, LaunchConfig(Dim3(1), Dim3(32)), (Argument("y", Direction.INOUT, np.zeros(32, "f4")),), budget)
"""


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGKILL, signal.SIGTERM])
def test_no_worker_outlives_its_parent(signal_number):
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    child = int(parent.stdout.readline())
    wait_until(lambda: cpu_seconds(child) > 0.3)
    parent.send_signal(signal_number)
    parent.wait(PATIENCE_SECONDS)
    assert ended(child)


def test_a_job_takes_what_processors_are_free(tmp_path, monkeypatch):
    monkeypatch.setenv(cpus.ENVIRONMENT, str(tmp_path / "slots"))
    monkeypatch.setattr(cpus, "available_cpus", lambda: 3)
    with cpus.cpu_slots() as first:
        assert first == 3
        monkeypatch.setattr(cpus, "WAIT_SECONDS", 0.0)
        with cpus.cpu_slots() as second:
            assert second == 3  # waited long enough: runs anyway
    with cpus.cpu_slots() as again:
        assert again == 3


def test_a_pool_of_jobs_gives_each_one_processor(tmp_path, monkeypatch):
    monkeypatch.setenv(cpus.ENVIRONMENT, str(tmp_path / "slots"))
    monkeypatch.setenv(cpus.MOST_THREADS, "1")
    monkeypatch.setattr(cpus, "available_cpus", lambda: 2)
    with cpus.cpu_slots() as first, cpus.cpu_slots() as second:
        assert (first, second) == (1, 1)


def test_two_jobs_share_the_processors(tmp_path, monkeypatch):
    monkeypatch.setenv(cpus.ENVIRONMENT, str(tmp_path))
    monkeypatch.setattr(cpus, "available_cpus", lambda: 1)
    entered = threading.Event()

    def other():
        with cpus.cpu_slots():
            entered.set()

    with cpus.cpu_slots() as threads:
        assert threads == 1
        thread = threading.Thread(target=other)
        thread.start()
        assert not entered.wait(0.1)
    thread.join(PATIENCE_SECONDS)
    assert entered.is_set()


def test_a_folder_that_cannot_hold_locks_stops_nothing(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(cpus.ENVIRONMENT, str(tmp_path / "file"))
    with cpus.cpu_slots() as threads:
        assert threads == cpus.available_cpus()


def test_a_folder_that_is_a_link_is_not_used(tmp_path, monkeypatch):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.setenv(cpus.ENVIRONMENT, str(tmp_path / "link"))
    with cpus.cpu_slots() as threads:
        assert threads == cpus.available_cpus()
    assert not list((tmp_path / "real").iterdir())


def test_hardware_runs_only_what_the_simulator_found_clean(copy):
    hardware = FakeDevice(lambda x, y, n: {"y": x + 1}, name="gpu", capabilities=frozenset({"timing", "sm_80"}))
    clean = FakeDevice(lambda x, y, n: {"y": x}, counters=Counters(instructions=7))
    device = Checked(hardware, clean)
    outcome = device.run(copy, CONFIG, ARGUMENTS)
    assert np.array_equal(outcome.outputs["y"], X + 1) and outcome.counters.instructions == 7
    assert device.name == "gpu" and {"timing", "counters", "sm_80"} <= device.capabilities
    faulty = FakeDevice(lambda x, y, n: {"y": x}, (diagnose("memcheck.null", "null"),), Status.FINDINGS)
    hardware.launches.clear()
    assert Checked(hardware, faulty).run(copy, CONFIG, ARGUMENTS).diagnostics[0].check == "memcheck.null"
    assert hardware.launches == []
