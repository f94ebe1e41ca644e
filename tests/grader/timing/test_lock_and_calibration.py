"""One timing at a time on a GPU, and what a calibration leaves behind."""

import json
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from grader.compile import compile_text
from grader.model import TimedKernel, TimingPair, TimingPlan
from grader.timing.calibration import (
    Calibrated,
    Calibration,
    calibration_path,
    load_calibration,
    save_calibration,
)
from grader.timing.lock import GpuBusy, exclusive, lock_path
from grader.timing.tools import tools_for
from grader.worker.host import WorkerDevice
from simt.events import Argument, Direction
from simt.launch import Dim3, LaunchConfig

ROOT = Path(__file__).parents[3]
UUID = "GPU-11111111-2222-3333-4444-555555555555"


@pytest.fixture(autouse=True)
def own_folders(monkeypatch, tmp_path):
    monkeypatch.setenv("WARPWISE_LOCKS", str(tmp_path))
    monkeypatch.setenv("WARPWISE_CACHE", str(tmp_path / "cache"))


HOLD = f"""
from grader.timing.lock import exclusive
with exclusive({UUID!r}):
    print("held", flush=True)
    input()
"""


def test_another_process_waits_for_the_gpu_and_a_dead_one_frees_it():
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", HOLD], cwd=ROOT, text=True, **pipes) as other:
        assert other.stdout.readline() == "held\n"
        with pytest.raises(GpuBusy, match="in use"), exclusive(UUID, seconds=0.2):
            pass
        other.kill()
    with exclusive(UUID, seconds=30):
        pass


def test_two_gpus_do_not_wait_for_each_other():
    with exclusive(UUID), exclusive(UUID + "-other", seconds=0.2):
        pass


def test_a_device_without_an_identity_needs_no_lock(tmp_path):
    with exclusive(""):
        assert list(tmp_path.iterdir()) == []


def test_every_user_may_take_the_lock():
    with exclusive(UUID):
        assert stat.S_IMODE(lock_path(UUID).stat().st_mode) == 0o666
    assert "/" not in lock_path("GPU/../x").name


def test_a_folder_that_cannot_be_written_says_what_to_set(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("WARPWISE_LOCKS", str(tmp_path / "file" / "below"))
    with pytest.raises(GpuBusy, match="WARPWISE_LOCKS"), exclusive(UUID, seconds=0.2):
        pass


FOUND = Calibration(
    "NVIDIA H200", "580.159.04", "2026-11-30", 4160.0, 38_000.0,
    {"tiling.gemm_tiled": Calibrated({"m": 8}, 432_000.0, 1.56, 1.0, {"1.5": "too near"})},
)  # fmt: skip


def test_a_calibration_survives_its_file():
    path = save_calibration(FOUND)
    assert path == calibration_path("NVIDIA H200", "580.159.04") and path.name == "NVIDIA_H200-580.159.04.json"
    assert load_calibration("NVIDIA H200", "580.159.04") == FOUND
    assert list(path.parent.iterdir()) == [path]


def test_another_gpu_another_driver_and_other_sizes_are_not_calibrated():
    save_calibration(FOUND)
    assert load_calibration("NVIDIA H200", "590.1") is None and load_calibration("Tesla T4", "580.159.04") is None
    assert FOUND.of("tiling.gemm_tiled", {"m": 16}) is None and FOUND.of("tiling.stencil", {"m": 8}) is None
    assert FOUND.of("tiling.gemm_tiled", {"m": 8}).thresholds_off == (1.5,)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": 99}', '{"schema": 1, "exercises": 3}'])
def test_a_damaged_file_is_no_calibration(text):
    path = save_calibration(FOUND)
    path.write_text(text)
    assert load_calibration("NVIDIA H200", "580.159.04") is None


def test_the_file_says_which_schema_it_has():
    assert json.loads(save_calibration(FOUND).read_text())["schema"] == 1


COPY = """extern "C" __global__ void copy(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}"""


def test_a_plan_for_a_fresh_process_gets_one():
    x = np.ones(1 << 12, np.float32)
    arguments = (
        Argument("x", Direction.IN, x), Argument("y", Direction.OUT, np.zeros_like(x)),
        Argument("n", Direction.SCALAR, np.int32(x.size)),
    )  # fmt: skip
    device = WorkerDevice("simulator")
    arm = TimedKernel(compile_text(COPY, "copy", "sm_80"), LaunchConfig(Dim3(16), Dim3(256)))
    pair = TimingPair(arm, arm, arguments, ("x",), tools_for("sm_80"))
    try:
        ids = []
        for fresh in (False, False, True):
            assert device.time(pair, TimingPlan(fresh_process=fresh)).ratio == 1.0
            ids.append(device._child._process.pid)
    finally:
        device.close()
    assert ids[0] == ids[1] != ids[2]
