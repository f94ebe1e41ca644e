"""A GPU after its workers were lost, with a fake GPU: the next answer is right, or the GPU is left alone."""

import json

import numpy as np
import pytest

from grader.answers import submit
from grader.devices import DeviceLost, DeviceMissing
from grader.devices.checked import Checked
from grader.exercises import exercise
from grader.hidden import NO_SEEDS
from grader.model import TimingPlan, Verdict
from grader.pipeline import grade
from grader.timing.trace import Trace
from grader.worker.cpus import ENVIRONMENT
from grader.worker.health import (
    MOST_FAILURES,
    WHICH_GPU,
    Guarded,
    Mark,
    MarkFile,
    called_alike,
    mark_file,
    marked,
    probe,
)
from grader.worker.host import _guarded
from simt.diagnostics import diagnose
from simt.events import Status
from tests.grader.fake import FakeDevice

MAP = exercise("selftest.map")
HONEST = """extern "C" __global__ void solve(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * x[i] + 1.0f;
}
"""


class FakeGpu(FakeDevice):
    """A worker whose process is lost as `losses` says, one a launch; a new process starts clean unless it is broken."""

    def __init__(self, losses=(), broken=()):
        super().__init__(answer, name="gpu", capabilities=frozenset({"timing", "cuda", "sm_80"}))
        self.losses, self.broken = list(losses), list(broken)
        self.started, self.probes = 1, 0
        self.dirty = False

    def run(self, compiled, config, arguments, budget=None, *, want_writers=False):
        probing = compiled.kernel == "probe"
        self.probes += probing
        if self.dirty or (probing and self.broken and self.broken.pop(0)):
            raise DeviceLost("child ended with SIGKILL")
        if not probing and (loss := self.losses.pop(0) if self.losses else None):
            self.dirty = True
            if loss == "illegal address":
                self.status, self.findings = Status.STOPPED, (diagnose("memcheck.global.read-oob", loss),)
                try:
                    return super().run(compiled, config, arguments)
                finally:
                    self.status, self.findings = Status.OK, ()
            raise DeviceLost(loss, timed_out=loss == "endless kernel")
        return super().run(compiled, config, arguments)

    def close(self):
        self.started, self.dirty = self.started + 1, False


def answer(x, y, n):
    if x.dtype == np.uint32:
        return {"y": x * np.uint32(2654435761) + np.arange(n, dtype=np.uint32)}
    return {"y": x * x + np.float32(1)}


def simulator():
    return FakeDevice(answer, name="simulator")


@pytest.fixture
def mark(tmp_path):
    return MarkFile(tmp_path / "state" / "gpu.json")


def graded(gpu):
    return grade(submit(MAP, HONEST), MAP, Checked(gpu, simulator()), hidden=NO_SEEDS)


LOSSES = [
    ("child ended with SIGKILL", Verdict.INTERNAL_ERROR),
    ("illegal address", Verdict.MEMORY_FAULT),
    ("endless kernel", Verdict.TIMEOUT),
]


@pytest.mark.parametrize(("loss", "verdict"), LOSSES)
def test_a_loss_costs_one_submission_and_leaves_the_next_right(loss, verdict, mark):
    gpu = FakeGpu([loss])
    first = graded(Guarded(gpu, mark))
    assert (first.verdict, first.score) == (verdict, 0) and (first.message or first.diagnostics)
    assert graded(Guarded(gpu, mark)).verdict is Verdict.PASS and gpu.probes == 1
    assert mark.read() == Mark() and not mark.path.exists()


@pytest.mark.parametrize("stopped", [True, False])
def test_a_kernel_that_was_stopped_while_it_was_timed_makes_the_gpu_suspect(stopped, mark):
    gpu = FakeGpu()
    times = np.zeros(0) if stopped else np.ones(20)
    written = (diagnose("memcheck.global.write-oob", "behind the end"),)
    gpu.timing = Trace(times, times, times, times, np.ones(1), "gpu", "1", "GPU-1", findings=written)
    device = Guarded(gpu, mark)
    assert device.time(None, TimingPlan()) is gpu.timing
    assert mark.read().suspect is stopped and (gpu.started > 1) is stopped
    gpu.timing = None
    assert graded(device).verdict is Verdict.PASS and gpu.probes == stopped and mark.read() == Mark()


class Spinning(FakeGpu):
    """Passes every case, and never ends once it is timed."""

    timed = 0

    def time(self, pair, plan):
        assert not self.dirty
        self.timed, self.dirty = self.timed + 1, True
        raise DeviceLost("no result within 60 s", timed_out=True)


def test_a_kernel_that_never_ends_once_it_is_timed_is_killed_in_two_processes_and_leaves_the_next_right(mark):
    gpu = Spinning()
    report = graded(Guarded(gpu, mark))
    assert (report.verdict, report.score) == (Verdict.TIMEOUT, 0) and "the timed case" in report.diagnostics[0].message
    assert (gpu.timed, gpu.probes) == (2, 1) and mark.read().suspect
    assert graded(Guarded(FakeGpu(), mark)).verdict is Verdict.PASS and mark.read() == Mark()


def test_a_gpu_that_goes_down_after_a_kill_in_a_timing_blames_nobody(mark):
    gpu = Spinning(broken=[True] * MOST_FAILURES)
    report = graded(Guarded(gpu, mark))
    assert report.verdict is Verdict.PASS and "marked down" in report.timing.problem and gpu.timed == 1


def test_a_worker_is_never_used_again_after_an_error(mark):
    gpu = FakeGpu(["illegal address"])
    graded(Guarded(gpu, mark))
    assert not gpu.dirty and gpu.started > 1


def test_nothing_is_examined_while_all_is_well(mark):
    gpu, examined = FakeGpu(), []
    device = Guarded(gpu, mark, lambda worker: examined.append(worker) or "")
    assert graded(device).verdict is Verdict.PASS and examined == []


def test_two_failed_probes_are_survived(mark):
    gpu = FakeGpu(["endless kernel"], broken=[True, True, False])
    device = Guarded(gpu, mark)
    graded(device)
    assert graded(device).verdict is Verdict.PASS and mark.read() == Mark()


def test_three_failed_probes_mark_the_gpu_down_for_every_process(mark):
    gpu = FakeGpu(["endless kernel"], broken=[True] * MOST_FAILURES)
    device = Guarded(gpu, mark)
    graded(device)
    for other in (device, Guarded(FakeGpu(), mark)):
        with pytest.raises(DeviceMissing, match="marked down since 2.*SIGKILL.*3 times in a row"):
            other.capabilities  # noqa: B018
    assert json.loads(mark.path.read_text())["failures"] == MOST_FAILURES


def test_looking_again_takes_the_mark_away(mark):
    mark.write(Mark(True, MOST_FAILURES, "2030-01-01", "fell off the bus"))
    assert "marked down" in Guarded(FakeGpu(broken=[True] * 9), mark).look_again()
    assert Guarded(FakeGpu(), mark).look_again() == "" and not mark.path.exists()


def test_a_mark_that_cannot_be_read_asks_for_a_look(mark):
    mark.path.parent.mkdir()
    mark.path.write_text("{")
    assert mark.read().suspect
    assert graded(Guarded(FakeGpu(), mark)).verdict is Verdict.PASS and not mark.path.exists()


def test_a_wrong_answer_of_the_probe_is_a_failure():
    wrong = FakeDevice(lambda x, y, n: {"y": x}, name="gpu")
    assert probe(wrong) == "the probe kernel gave a wrong answer"
    stopped = FakeDevice(answer, findings=(diagnose("memcheck.null", "null"),), status=Status.STOPPED)
    assert "null" in probe(stopped)
    assert probe(FakeGpu()) == ""


@pytest.fixture
def host(monkeypatch, tmp_path):
    """A host whose jobs call their GPUs as `host(...)` says; marks lie in a folder of the test."""
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path))

    def job(**given):
        for name in WHICH_GPU:
            monkeypatch.delenv(name, raising=False)
        for name, value in given.items():
            monkeypatch.setenv(name, value)

    job()
    return job


def test_a_gpu_whose_uuid_nobody_tells_is_known_by_what_its_job_calls_it(host):
    alone = mark_file("cuda").path
    places = [alone]
    for given in (
        {"CUDA_VISIBLE_DEVICES": "3"},
        {"CUDA_VISIBLE_DEVICES": "3", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"},
        {"CUDA_VISIBLE_DEVICES": "GPU-11111111-2222/../x"},
        {"CUDA_VISIBLE_DEVICES": "0", "SLURM_JOB_GPUS": "5"},
        {"CUDA_VISIBLE_DEVICES": "0", "SLURM_JOB_GPUS": "6"},
    ):
        host(**given)
        places.append(mark_file("cuda").path)
    assert len(set(places)) == len(places) and {place.parent for place in places} == {alone.parent}
    host(CUDA_VISIBLE_DEVICES="3,4")
    assert mark_file("cuda").path == places[1]  # a worker uses the first


def test_a_gpu_has_one_mark_whatever_its_jobs_call_it(host):
    places = set()
    for name in ("0", "1,0", "GPU-7", ""):
        host(CUDA_VISIBLE_DEVICES=name)
        places.add(mark_file("cuda", "GPU-7f3a").path)
    assert len(places) == 1 and mark_file("cuda", "GPU-11").path not in places


def test_each_part_of_a_gpu_has_a_mark_of_its_own(host):
    places = []
    for name in ("MIG-1c", "MIG-2d", "0"):
        host(CUDA_VISIBLE_DEVICES=name)
        places.append(mark_file("cuda", "GPU-7f3a").path)
    assert len(set(places)) == 3


class Job:
    """A worker of a job on the GPU `uuid`, as `_guarded` gets it."""

    def __init__(self, uuid):
        self._uuid, self.gpu, self.starts = uuid, FakeGpu(), 0

    @property
    def uuid(self):
        self.starts += 1
        return self._uuid

    def __getattr__(self, name):
        return getattr(self.gpu, name)


def test_a_gpu_that_one_job_found_down_is_refused_to_another_that_calls_it_otherwise(host):
    host(CUDA_VISIBLE_DEVICES="0")
    mark_file("cuda", "GPU-7").write(Mark(True, MOST_FAILURES, "2030-01-01", "fell off the bus"))
    same, renamed, neighbour = Job("GPU-7"), Job("GPU-7"), Job("GPU-8")
    with pytest.raises(DeviceMissing, match="fell off the bus"):
        _guarded(same, "cuda").name  # noqa: B018
    assert same.starts == 0  # its name was enough
    host(CUDA_VISIBLE_DEVICES="GPU-7")
    with pytest.raises(DeviceMissing, match="fell off the bus"):
        _guarded(renamed, "cuda").name  # noqa: B018
    host(CUDA_VISIBLE_DEVICES="1")
    assert _guarded(neighbour, "cuda").name == "gpu" and neighbour.starts == 1


def test_a_gpu_that_is_only_suspect_is_told_by_its_uuid(host):
    host(CUDA_VISIBLE_DEVICES="0")
    mark_file("cuda", "GPU-7").write(Mark(suspect=True))
    other = Job("GPU-8")
    assert _guarded(other, "cuda").name == "gpu" and other.gpu.probes == 0
    assert mark_file("cuda", "GPU-7").read().suspect and [m.path for m in called_alike("cuda")] == [
        m.path for m in marked("cuda")
    ]
