// Every second row and every third plane, by element strides.
#include "tile.cuh"
__global__ void steps_3d(const __grid_constant__ CUtensorMap map, float* y) {
    __shared__ __align__(128) float tile[3 * 4 * 8];
    __shared__ u64 bar;
    if (threadIdx.x == 0) {
        init(&bar, 1);
        publish();
        expect(&bar, sizeof(tile));
        asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];"
                     :: "r"(at(tile)), "l"(&map), "r"(4), "r"(1), "r"(2), "r"(at(&bar)) : "memory");
    }
    __syncthreads();
    wait(&bar, 0);
    for (int i = threadIdx.x; i < 96; i += blockDim.x) y[i] = tile[i];
}
