// Five dimensions of bytes, three of them left at an edge.
#include "tile.cuh"
__global__ void box_5d(const __grid_constant__ CUtensorMap map, unsigned char* y) {
    __shared__ __align__(128) unsigned char tile[2 * 2 * 3 * 2 * 32];
    __shared__ u64 bar;
    if (threadIdx.x == 0) {
        init(&bar, 1);
        publish();
        expect(&bar, sizeof(tile));
        asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], "
                     "[%1, {%2, %3, %4, %5, %6}], [%7];" :: "r"(at(tile)), "l"(&map), "r"(16), "r"(2), "r"(-1), "r"(1), "r"(0),
                     "r"(at(&bar)) : "memory");
    }
    __syncthreads();
    wait(&bar, 0);
    for (int i = threadIdx.x; i < (int)sizeof(tile); i += blockDim.x) y[i] = tile[i];
}
