"""Blocks that wait for one another: a cooperative grid that fills a GPU, and clusters that exchange tiles.

Times are not asserted; what is asserted is that the results are right and clean.
"""

import numpy as np

from simt.events import Argument, Direction
from simt.launch import Dim3, LaunchConfig
from simt.program import Program

HEAD = "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n"
GRID = (
    HEAD
    + """extern "C" __global__ void k(const float* x, float* y) {
    int i = cg::this_grid().thread_rank();
    y[i] = x[i];
    cg::this_grid().sync();
    float other = y[gridDim.x * blockDim.x - 1 - i];
    cg::this_grid().sync();
    y[i] = other;
}
"""
)
EXCHANGE = (
    HEAD
    + """extern "C" __global__ __cluster_dims__(8) void k(const float* x, float* y) {
    __shared__ float tile[256];
    auto cluster = cg::this_cluster();
    int i = blockIdx.x * 256 + threadIdx.x;
    tile[threadIdx.x] = x[i];
    cluster.sync();
    float sum = 0;
    for (int rank = 0; rank < 8; ++rank) sum += cluster.map_shared_rank(tile, rank)[threadIdx.x];
    y[i] = sum;
    cluster.sync();
}
"""
)


def launched(benchmark, source, grid, block, **config):
    program = Program.from_cuda(source, arch="sm_90")
    x = np.random.default_rng(1).integers(-8, 8, grid * block).astype(np.float32)
    arguments = [Argument("x", Direction.IN, x), Argument("y", Direction.OUT, np.zeros_like(x))]
    launch = LaunchConfig(Dim3(grid), Dim3(block), **config)
    result = benchmark(lambda: program.launch(launch, arguments))
    assert not [d for d in result.diagnostics if d.severity != "advice"]
    return x, result.outputs["y"]


def test_run_cooperative_grid_of_1024_blocks(benchmark):
    x, y = launched(benchmark, GRID, 1024, 128, cooperative=True)
    assert np.array_equal(y, x[::-1])


def test_run_exchange_in_64_clusters_of_8_blocks(benchmark):
    x, y = launched(benchmark, EXCHANGE, 512, 256)
    tiles = x.reshape(64, 8, 256)
    assert np.array_equal(y.reshape(tiles.shape), np.broadcast_to(tiles.sum(1, keepdims=True), tiles.shape))
