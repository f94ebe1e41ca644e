"""How fast the engine is on a tiled GEMM, and beside what: the reference interpreter and NumPy's own product.

Times are not asserted: they depend on the machine. The lines at the end of the run give the ratios that the course's
targets speak of (translate and run N = 256 in 60 ms each, racecheck at most doubles it, two threads 1.6 times one).
"""

import dataclasses
import functools
import time

import numpy as np
import pytest

from simt.events import Argument, Direction, Status
from simt.launch import Dim3, LaunchConfig
from simt.program import Program
from simt.ptx.parser import parse
from tests.simt.reference import Machine, run

SOURCE = """extern "C" __global__ void gemm(const float* A, const float* B, float* C, int n) {
    __shared__ float a[16][16], b[16][16];
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < n; t += 16) {
        a[threadIdx.y][threadIdx.x] = A[row * n + t + threadIdx.x];
        b[threadIdx.y][threadIdx.x] = B[(t + threadIdx.y) * n + col];
        __syncthreads();
        for (int k = 0; k < 16; ++k)
            sum += a[threadIdx.y][k] * b[k][threadIdx.x];
        __syncthreads();
    }
    C[row * n + col] = sum;
}
"""
COUNTED = frozenset()
MEMCHECK = frozenset({"memcheck"})
RACECHECK = frozenset({"memcheck", "racecheck"})
# Racecheck of global memory runs on one thread, so it is held against one.
RATIOS = (
    ("racecheck over counters and memcheck, N = 256, one thread", "racecheck 256", "memcheck 256"),
    ("memcheck over counters alone, N = 256, one thread", "memcheck 256", "counters 256"),
    ("one thread over two, N = 512", "512 on 1", "512 on 2"),
    ("reference interpreter over engine, per warp instruction", "reference", "engine"),
    ("counters and memcheck over NumPy's matmul, N = 256", "memcheck 256", "numpy 256"),
)


@pytest.fixture(scope="module")
def program():
    return Program.from_cuda(SOURCE, kernel="gemm", arch="sm_80")


@pytest.fixture(scope="module")
def measured(request):
    """Seconds by what was measured; ratios are written when the module is done."""
    seconds = {}
    yield seconds
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        for text, one, other in RATIOS:
            if one in seconds and other in seconds:
                print(f"\n{text}: {seconds[one] / seconds[other]:.2f}", end="")


def launch(program, n, checks, threads=None):
    config = LaunchConfig(Dim3(n // 16, n // 16), Dim3(16, 16))
    result = program.launch(config, arguments(n), checks=checks, threads=threads)
    assert result.status is Status.OK
    return result


@functools.cache
def arguments(n):
    """Made once: a launch copies its arguments, and making them is not what is timed."""
    a, b = (np.random.default_rng(seed).standard_normal((n, n)).astype(np.float32) for seed in (1, 2))
    c = np.empty((n, n), np.float32)
    matrices = [Argument("A", Direction.IN, a), Argument("B", Direction.IN, b), Argument("C", Direction.OUT, c)]
    return [*matrices, Argument("n", Direction.SCALAR, np.int32(n))]


def best(benchmark, measured, name, action, rounds=5):
    """Measures an action; keeps its least time, or times it once where benchmarks are switched off."""
    started = time.perf_counter()
    result = benchmark.pedantic(action, rounds=rounds, warmup_rounds=1)
    measured[name] = benchmark.stats["min"] if benchmark.stats is not None else time.perf_counter() - started
    return result


def test_translate_tiled_gemm(benchmark, program):
    """PTX text to machine code for full warps, and the first block of the grid run."""
    config = LaunchConfig(Dim3(1, 1), Dim3(16, 16))
    given = arguments(16)

    def translate():
        fresh = dataclasses.replace(program, module=parse(program.ptx, roots=("gemm",)), _kernels={})
        return fresh.launch(config, given, checks=MEMCHECK)

    result = benchmark.pedantic(translate, rounds=5, warmup_rounds=1)
    benchmark.extra_info["translate_ms"] = round(1000 * result.seconds["translate"], 1)


@pytest.mark.parametrize("checks", [COUNTED, MEMCHECK, RACECHECK], ids=["counters", "memcheck", "racecheck"])
def test_run_tiled_gemm_256(benchmark, measured, program, checks):
    name = "racecheck" if checks is RACECHECK else "memcheck" if checks else "counters"
    result = best(benchmark, measured, f"{name} 256", lambda: launch(program, 256, checks, 1))
    measured["engine"] = measured["counters 256"] / result.counters.instructions
    benchmark.extra_info["M warp instructions/s"] = round(
        result.counters.instructions / measured[f"{name} 256"] / 1e6, 1
    )


@pytest.mark.parametrize("threads", [1, 2])
def test_run_tiled_gemm_512(benchmark, measured, program, threads):
    best(benchmark, measured, f"512 on {threads}", lambda: launch(program, 512, MEMCHECK, threads), rounds=7)


def test_reference_interpreter(benchmark, measured, program):
    machine = Machine(program.module, "gemm", (16, 16, 1))
    outcome = best(benchmark, measured, "reference", lambda: run(machine, (1, 1, 1), arguments(16)), rounds=2)
    measured["reference"] /= sum(row["instructions"] for row in outcome.counters.values())


def test_numpy_matmul_256(benchmark, measured):
    a, b = (argument.value for argument in arguments(256)[:2])
    best(benchmark, measured, "numpy 256", lambda: a @ b)
