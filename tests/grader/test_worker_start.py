"""What a worker is given of the environment when it starts, and what is said where it does not start."""

import pytest

from grader.answers import submit
from grader.devices import DeviceLost, DeviceMissing
from grader.exercises import exercise
from grader.hidden import NO_SEEDS
from grader.model import Compiled, Resources, TimingPlan, Verdict
from grader.pipeline import grade
from grader.running import lost_finding
from grader.timing.lock import GpuBusy, lock_path
from grader.worker.host import WorkerDevice
from grader.worker.starting import GPU_ENVIRONMENT, ROOT, environment_for
from tests.attacks.table import ATTACKS

# A worker's process without a device: it says what it sees of the environment and for which GPU it would hold the lock.
SCRIPT = f"""
import json, os, sys
sys.path.insert(0, {str(ROOT)!r})
from simt.sandbox import serve
def hello():
    facts = {{"name": "cuda", "arch": "sm_90", "capabilities": ["timing"], "layers": [],
        "uuid": "GPU-" + os.environ.get("CUDA_VISIBLE_DEVICES", "0"), "environment": sorted(os.environ)}}
    return (json.dumps(facts).encode(),)
serve(lambda message: message, hello)
"""


# A worker on a host of several GPUs, over a CuPy and an NVML of the tests: CUDA_VISIBLE_DEVICES says at which address it is.
GPUS = f"""
import os, sys
from types import SimpleNamespace
sys.path.insert(0, {str(ROOT)!r})
from tests.grader.test_nvml import FakeNvml
from tests.grader.timing.fake_cupy import FakeCupy
class Library(FakeNvml):
    nvmlInit = lambda self: None
    nvmlDeviceGetHandleByPciBusId = lambda self, address: address
    nvmlDeviceGetUUID = lambda self, handle: "GPU-at-" + handle.decode()
cupy, chosen = FakeCupy({{}}), os.environ["CUDA_VISIBLE_DEVICES"]
cupy.cuda.is_available = lambda: chosen != ""
cupy.cuda.Device = lambda: SimpleNamespace(use=lambda: None, compute_capability="90", id=0, pci_bus_id=f"0000:0{{chosen}}:00.0")
sys.modules |= {{"cupy": cupy, "pynvml": Library()}}
from grader.worker.child import main
main()
"""


@pytest.fixture
def started_as(tmp_path, monkeypatch):
    """A worker whose process runs the text of a script."""
    workers = []

    def begin(script, device="simulator"):
        (tmp_path / "child.py").write_text(script)
        monkeypatch.setattr("grader.worker.starting.CHILD", tmp_path / "child.py")
        workers.append(WorkerDevice(device))
        return workers[-1]

    yield begin
    for worker in workers:
        worker.close()


@pytest.fixture
def job(monkeypatch):
    """The environment of a job that was given GPU 3 of a host."""
    for name in GPU_ENVIRONMENT:
        monkeypatch.delenv(name, raising=False)
    given = {"CUDA_VISIBLE_DEVICES": "3", "CUDA_DEVICE_ORDER": "PCI_BUS_ID", "LD_LIBRARY_PATH": "/opt/cuda/lib"}
    for name, value in (given | {"WARPWISE_SEEDS": "/class/seeds.json", "DATABASE_PASSWORD": "secret"}).items():
        monkeypatch.setenv(name, value)
    return given


def test_a_worker_on_a_gpu_uses_the_gpu_of_its_job_and_nothing_else_is_told_to_it(started_as, job):
    worker = started_as(SCRIPT, "cuda")
    facts = worker._ready()
    assert facts["uuid"] == "GPU-3"
    assert set(facts["environment"]) - {"LC_CTYPE"} == set(job)
    assert environment_for("cuda") == job


def test_jobs_on_two_gpus_hold_two_locks(started_as, job, monkeypatch):
    first = started_as(SCRIPT, "cuda")._ready()["uuid"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4")
    assert lock_path(first) != lock_path(started_as(SCRIPT, "cuda")._ready()["uuid"])


def test_a_timing_holds_the_lock_of_the_gpu_that_the_job_was_given(started_as, job, monkeypatch):
    def busy(uuid):
        raise GpuBusy(f"{uuid} is in use")

    monkeypatch.setattr("grader.timing.lock.exclusive", busy)
    with pytest.raises(GpuBusy, match="GPU-at-0000:03:00.0 is in use"):
        started_as(GPUS, "cuda").time(None, TimingPlan())


def test_that_a_job_has_no_gpu_is_said_with_the_variable(started_as, job, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    with pytest.raises(DeviceMissing, match="CUDA_VISIBLE_DEVICES=''"):
        started_as(GPUS, "cuda").start()


def test_a_job_that_was_given_no_gpu_gets_none(started_as, job, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert started_as(SCRIPT, "cuda")._ready()["uuid"] == "GPU-"


def test_a_simulators_worker_is_told_nothing(started_as, job):
    assert set(started_as(SCRIPT)._ready()["environment"]) <= {"LC_CTYPE"}


START_FAILURES = {
    "import no_such_package": ("No module named 'no_such_package'", "a package is missing"),
    "raise MemoryError": ("MemoryError", "too little memory"),
    "raise OSError(28, 'No space left on device')": ("No space left on device", "free some of the disk"),
    "import os; os.kill(os.getpid(), 9)": ("SIGKILL", "doctor"),
    "import os; os.write(2, b'\\x1b[2Jsomething\\n' * 9999); os._exit(7)": (
        "\N{REPLACEMENT CHARACTER}[2Jsomething",
        "doctor",
    ),
}


@pytest.mark.parametrize("script", START_FAILURES)
def test_a_worker_that_does_not_start_says_why_and_what_to_do(script, started_as):
    reason, advice = START_FAILURES[script]
    with pytest.raises(DeviceLost) as lost:
        started_as(script).start()
    message = str(lost.value)
    assert lost.value.at_start and not lost.value.timed_out
    assert reason in message[:300] and advice in message[:300] and "\x1b" not in message and len(message) < 1500


def test_the_report_says_why_and_blames_no_kernel(started_as):
    row, text = exercise("selftest.map"), ATTACKS["c01_honest"].text
    report = grade(submit(row, text), row, started_as("import no_such_package"), hidden=NO_SEEDS)
    assert (report.verdict, report.score) == (Verdict.INTERNAL_ERROR, 0)
    assert "No module named 'no_such_package'" in report.message and "not your answer" in report.message


def test_a_worker_that_does_not_start_again_is_no_fault_of_the_kernel_either(started_as):
    with pytest.raises(DeviceLost) as lost:
        started_as("raise MemoryError").start()
    compiled = Compiled("ptx", b"", "solve", "sm_80", Resources(8, 0, 0, 0), "", "digest", "source")
    finding = lost_finding(lost.value, compiled, "case of 4")
    assert "`solve` did not start (case of 4)" in finding.message and "no fault of the kernel" in finding.help
