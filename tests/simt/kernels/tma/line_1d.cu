// A tensor of one dimension: the last tile reaches past its end.
#include "tile.cuh"
__global__ void line_1d(const __grid_constant__ CUtensorMap map, double* y) {
    __shared__ __align__(128) double tile[64];
    __shared__ u64 bar;
    if (threadIdx.x == 0) {
        init(&bar, 1);
        publish();
        expect(&bar, sizeof(tile));
        asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2}], [%3];"
                     :: "r"(at(tile)), "l"(&map), "r"(64 * (int)blockIdx.x), "r"(at(&bar)) : "memory");
    }
    __syncthreads();
    wait(&bar, 0);
    y[64 * blockIdx.x + threadIdx.x] = tile[threadIdx.x];
}
