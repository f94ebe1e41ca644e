"""`simt estimate`: what it prints, what bounds a kernel, and what it refuses."""

import json

import numpy as np
import pytest

from simt.cli import main
from simt.events import Argument, Direction
from simt.gpus import gpu
from simt.launch import Dim3, LaunchConfig
from simt.model.mix import PIPES
from simt.program import Program

COPY = "extern \"C\" __global__ void copy(const float* x, float* y, int n) {\n" \
       "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) y[i] = x[i];\n}\n"  # fmt: skip
SPIN = "extern \"C\" __global__ void copy(const float* x, float* y, int n) {\n" \
       "    for (volatile int* p = (volatile int*)y; *p != 1;) {}\n}\n"  # fmt: skip
LAUNCH = """
kernel = "copy"
grid = {grid}
block = {block}
[[args]]
name = "x"
dtype = "float32"
shape = [{n}]
init = "normal:7"
[[args]]
name = "y"
dtype = "float32"
shape = [{n}]
dir = "out"
[[args]]
name = "n"
dtype = "int32"
value = {n}
"""


@pytest.fixture
def estimated(tmp_path, capsys):
    """(exit status, JSON) of one estimate."""

    def run(source=COPY, n=1 << 26, block=256, gpu="h200"):
        (tmp_path / "k.cu").write_text(source)
        (tmp_path / "l.toml").write_text(LAUNCH.format(n=n, block=block, grid=-(-n // block)))
        arguments = ["estimate", str(tmp_path / "k.cu"), "--launch", str(tmp_path / "l.toml"), "--gpu", gpu, "--json"]
        status = main(arguments)
        return status, json.loads(capsys.readouterr().out)

    return run


def test_copy_of_hundreds_of_megabytes_is_estimated_from_a_few_blocks(estimated):
    status, found = estimated()
    assert status == 0 and found["status"] == "ok" and found["basis"] == "estimated"
    assert found["blocks_total"] == 1 << 18 and 0 < found["blocks_run"] < 100
    assert found["bound"] in found["bounds"] and found["time_ms"] >= found["bounds"]["dram"]
    assert found["dram_bytes"] == pytest.approx(8 << 26, rel=0.01)
    assert 0.15 < found["time_ms"] < 0.25  # 0.2036 ms on an H200, tests/golden/h200/times.json, `copy_f1`
    assert found["calibrated"]


def test_gpu_with_less_bandwidth_takes_longer_and_is_called_uncalibrated(estimated):
    fast, slow = estimated()[1], estimated(gpu="t4")[1]
    assert slow["time_ms"] > 5 * fast["time_ms"]
    assert slow["bound"] == "dram" and not slow["calibrated"] and slow["arch"] == "sm_75"


def test_tiny_launch_is_bound_by_the_launch_itself(estimated):
    found = estimated(n=256)[1]
    assert found["bound"] == "launch" and found["time_ms"] < 0.005


def test_text_says_that_it_is_an_estimate(tmp_path, capsys, estimated):
    estimated(n=4096)
    files = [str(tmp_path / "k.cu"), "--launch", str(tmp_path / "l.toml")]
    assert main(["estimate", *files, "--gpu", "RTX 4090"]) == 0
    shown = capsys.readouterr().out
    assert "GeForce RTX 4090" in shown and "uncalibrated" in shown and "estimate" in shown


def test_every_limit_has_words():
    from simt.cli_estimate import LIMITS
    from simt.model.estimate import LSU_PARTS

    program = Program.from_cuda(COPY, arch="sm_90")
    arrays = [np.zeros(4096, np.float32), np.zeros(4096, np.float32)]
    arguments = [Argument("x", Direction.IN, arrays[0]), Argument("y", Direction.OUT, arrays[1]),
                 Argument("n", Direction.SCALAR, np.int32(4096))]  # fmt: skip
    _, (found,) = program.estimates(LaunchConfig(Dim3(16), Dim3(256)), arguments, [gpu("h200")])
    assert {*found.estimate.bounds, *LSU_PARTS, *PIPES} - {"tensor_flops"} <= LIMITS.keys()


def test_unknown_gpu_is_answered_with_those_that_are_known(estimated):
    status, found = estimated(gpu="h300")
    assert status == 1 and "h200" in found["diagnostics"][0]["message"]


def test_kernel_that_does_not_compile_exits_with_two(estimated):
    status, found = estimated(source=COPY.replace("x[i];", "z[i];"), n=256)
    assert status == 2 and found["status"] == "build_failed" and found["diagnostics"]


def test_launch_that_cuda_would_refuse_is_refused(estimated):
    status, found = estimated(n=4096, block=2048)
    assert status == 1 and found["status"] == "rejected"


def test_blocks_that_never_end_give_no_estimate(estimated, monkeypatch):
    monkeypatch.setattr("simt.runner.sampling.MOST_FUEL", 100_000)
    status, found = estimated(source=SPIN, n=256)
    assert status == 4 and "time_ms" not in found
