"""Where no GPU is, the simulator's estimate stands for a timing: labelled, for a named GPU, and it changes no argument."""

import numpy as np
import pytest

from grader.devices.simulator import Simulator
from grader.model_runs import Compiled, Resources, TimedKernel, TimingPair
from grader.model_timing import Basis, TimingPlan
from simt.events import Argument, Direction
from simt.launch import Dim3, LaunchConfig
from simt.nvrtc import compile_cuda

N = 1 << 22
KERNELS = """extern "C" {
__global__ void strided(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = (i * 32) & (n - 1); if (i < n) y[j] = x[j];
}
__global__ void coalesced(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i];
}
__global__ void waiting(const float* x, float* y, int n) { while (((volatile float*)y)[0] != 1.0f) {} }
}"""


@pytest.fixture(scope="module")
def arms():
    build = compile_cuda(KERNELS, arch="sm_80")
    config = LaunchConfig(Dim3(N // 256), Dim3(256))
    made = {}
    for name in ("strided", "coalesced", "waiting"):
        resources = Resources(build.resources[name].registers, 0, 0, 0)
        compiled = Compiled(build.ptx, build.cubin, name, "sm_80", resources, "", f"speed-{name}", KERNELS)
        made[name] = TimedKernel(compiled, config)
    return made


def timed(arms, baseline, student):
    x, y = np.ones(N, np.float32), np.zeros(N, np.float32)
    arguments = (
        Argument("x", Direction.IN, x), Argument("y", Direction.INOUT, y), Argument("n", Direction.SCALAR, np.int32(N)),
    )  # fmt: skip
    timing = Simulator().time(TimingPair(arms[baseline], arms[student], arguments), TimingPlan())
    assert not y.any()
    return timing


def test_estimate_is_labelled_and_names_its_gpu(arms):
    timing = timed(arms, "strided", "coalesced")
    assert timing.basis is Basis.ESTIMATED and timing.device == "H200 SXM"
    assert timing.low == timing.ratio == timing.high


def test_coalesced_copy_is_faster_and_the_reverse_slower(arms):
    assert timed(arms, "strided", "coalesced").ratio > 2
    assert timed(arms, "coalesced", "strided").ratio < 0.5


def test_kernel_that_never_ends_has_no_estimate(arms, monkeypatch):
    monkeypatch.setattr("simt.runner.sampling.MOST_FUEL", 100_000)
    assert timed(arms, "coalesced", "waiting") is None
