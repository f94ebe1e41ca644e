"""Kernels whose speed is known, for the acceptance of the timing: copies, products, and slower variants of both."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from grader.compile import compile_text
from grader.devices import Device
from grader.model import Compiled, TimedKernel, TimingPair
from grader.timing.tools import tools_for
from simt.events import Argument, Direction
from simt.launch import Dim3, LaunchConfig

__all__ = ["WORKLOADS", "Workload", "pair_of"]

THREADS = 256

# WORK is one of the two last parameters, so that both arms take the same arguments and differ in nothing else.
SOURCE = """
#define PARAMETERS const float* x, float* y, int n, int baseline_work, int student_work

extern "C" __global__ void copy(PARAMETERS) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float value = x[i];
        if (i < WORK) value += 0.0f * x[n + i];  // more bytes
        y[i] = value;
    }
}

extern "C" __global__ void chain(PARAMETERS) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float value = x[i];
        for (int round = 0; round < WORK; ++round) value = fmaf(value, 0.999f, 0.001f);  // each waits for the last
        y[i] = value;
    }
}

extern "C" __global__ void product(PARAMETERS) {
    __shared__ float a[16][16], b[16][16];
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < n; k += 16) {
        a[threadIdx.y][threadIdx.x] = x[row * n + k + threadIdx.x];
        b[threadIdx.y][threadIdx.x] = x[(k + threadIdx.y) * n + col];
        __syncthreads();
        for (int j = 0; j < 16; ++j) sum += a[threadIdx.y][j] * b[j][threadIdx.x];
        __syncthreads();
    }
    y[row * n + col] = sum;
}

extern "C" __global__ void product_naive(PARAMETERS) {
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < n; ++k) sum += x[row * n + k] * x[k * n + col];
    y[row * n + col] = sum;
}

extern "C" __global__ void nothing(PARAMETERS) {}
"""


@dataclass(frozen=True, slots=True)
class Workload:
    """One kernel: x has `inputs` floats, y `outputs`; n and the amount of work are its scalars."""

    kernel: str
    n: int
    inputs: int
    outputs: int
    config: LaunchConfig
    work: int = 0

    def more(self, work: int) -> Workload:
        """The same with another amount of work."""
        return replace(self, work=work)


def _flat(n: int) -> LaunchConfig:
    return LaunchConfig(Dim3(-(-n // THREADS)), Dim3(THREADS))


SQUARE = LaunchConfig(Dim3(64, 64), Dim3(16, 16))
WORKLOADS = {
    "copy": Workload("copy", 1 << 24, 1 << 25, 1 << 24, _flat(1 << 24)),
    "copy_small": Workload("copy", 1 << 16, 1 << 17, 1 << 16, _flat(1 << 16)),
    "product": Workload("product", 1024, 1 << 20, 1 << 20, SQUARE),
    "product_naive": Workload("product_naive", 1024, 1 << 20, 1 << 20, SQUARE),
    "chain": Workload("chain", 1 << 22, 1 << 22, 1 << 22, _flat(1 << 22), 1000),
    "nothing": Workload("nothing", 32, 32, 32, LaunchConfig(Dim3(1), Dim3(32))),
}


def pair_of(device: Device, baseline: Workload, student: Workload) -> TimingPair:
    """Both arms over the arguments of the baseline."""
    x = np.random.default_rng(1).uniform(0.5, 1.5, baseline.inputs).astype(np.float32)
    scalars = {"n": baseline.n, "baseline_work": baseline.work, "student_work": student.work}
    arguments = (
        Argument("x", Direction.IN, x),
        Argument("y", Direction.OUT, np.zeros(baseline.outputs, np.float32)),
        *(Argument(name, Direction.SCALAR, np.int32(value)) for name, value in scalars.items()),
    )
    arms = [
        TimedKernel(_built(one.kernel, word, device), one.config)
        for one, word in ((baseline, "baseline_work"), (student, "student_work"))
    ]
    return TimingPair(arms[0], arms[1], arguments, ("x",), tools_for(device.arch))


def _built(kernel: str, work: str, device: Device) -> Compiled:
    built = compile_text(f"#define WORK {work}\n{SOURCE}", kernel, device.arch)
    assert isinstance(built, Compiled), built.log
    return built
