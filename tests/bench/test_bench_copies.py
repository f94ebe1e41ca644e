"""Tile copies at the size of a lesson, and a large tiled product with every check on.

The course's targets, on two cores: a 1024 x 1024 tile copy in at most 0.3 s, a 512^3 tiled GEMM with all checks in at most
0.6 s. Times are not asserted: they depend on the machine; what is asserted is that the results are right and clean.
"""

from pathlib import Path

import numpy as np
import pytest

from simt.events import Argument, Direction
from simt.launch import Dim3, LaunchConfig
from simt.program import Program
from simt.tensor_map import Swizzle, TensorMap
from tests.bench.test_bench_engine import SOURCE

TILES = Path(__file__).parents[1] / "simt" / "kernels" / "tma"
N = 1024
COPY = """#include "tile.cuh"
extern "C" __global__ void copy(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to) {
    __shared__ __align__(1024) float tile[64 * 32];
    __shared__ u64 bar;
    if (threadIdx.x == 0) {
        init(&bar, 1);
        publish();
        expect(&bar, sizeof(tile));
        load(tile, &from, 32 * blockIdx.x, 64 * blockIdx.y, &bar);
        wait(&bar, 0);
        store(&to, 32 * blockIdx.x, 64 * blockIdx.y, tile);
        commit();
        drain();
    }
}
"""


@pytest.mark.parametrize("swizzle", [Swizzle.NONE, Swizzle.B128], ids=["plain", "swizzled"])
def test_run_tile_copy_1024(benchmark, swizzle):
    program = Program.from_cuda(COPY, arch="sm_90", include_dirs=(TILES,))
    x = np.random.default_rng(1).standard_normal((N, N)).astype(np.float32)
    maps = [
        Argument(name, Direction.SCALAR, TensorMap.of(base, (N, N), "float32", (32, 64), swizzle=swizzle, backing=held))
        for name, base, held in (
            ("from", "x", Argument("x", Direction.IN, x)), ("to", "y", Argument("y", Direction.OUT, np.zeros_like(x))),
        )
    ]  # fmt: skip
    config = LaunchConfig(Dim3(N // 32, N // 64), Dim3(32))
    result = benchmark(lambda: program.launch(config, maps))
    assert np.array_equal(result.outputs["y"], x)
    assert not [d for d in result.diagnostics if d.severity != "advice"]
    assert result.counters.bulk_bytes == 2 * x.nbytes


def test_run_tiled_gemm_512_with_every_check(benchmark):
    n = 512
    program = Program.from_cuda(SOURCE, kernel="gemm", arch="sm_80")
    a, b = np.random.default_rng(2).standard_normal((2, n, n)).astype(np.float32)
    arguments = [
        Argument("A", Direction.IN, a), Argument("B", Direction.IN, b), Argument("C", Direction.OUT, np.zeros_like(a)),
        Argument("n", Direction.SCALAR, np.int32(n)),
    ]  # fmt: skip
    config = LaunchConfig(Dim3(n // 16, n // 16), Dim3(16, 16))
    result = benchmark.pedantic(lambda: program.launch(config, arguments), rounds=3, warmup_rounds=1)
    assert np.allclose(result.outputs["C"], a.astype(np.float64) @ b, atol=1e-2)
    assert not [d for d in result.diagnostics if d.severity != "advice"]
