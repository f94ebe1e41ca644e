// What a 64-byte swizzle makes of 16 rows of 64 bytes: shared memory as it lies.
#include "tile.cuh"
__global__ void swizzle_64(const __grid_constant__ CUtensorMap map, int* y) {
    __shared__ __align__(1024) int tile[16 * 16];
    __shared__ u64 bar;
    if (threadIdx.x == 0) {
        init(&bar, 1);
        publish();
        expect(&bar, sizeof(tile));
        load(tile, &map, 0, 0, &bar);
    }
    __syncthreads();
    wait(&bar, 0);
    for (int i = threadIdx.x; i < 16 * 16; i += blockDim.x) y[i] = tile[i];
}
