// A box of 64 bytes in a 128-byte swizzle: its rows keep the whole span.
#include "tile.cuh"
__global__ void swizzle_narrow(const __grid_constant__ CUtensorMap map, int* y) {
    __shared__ __align__(1024) int room[16 * 32];
    __shared__ u64 bar;
    for (int i = threadIdx.x; i < 512; i += blockDim.x) room[i] = -1;
    fence_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        init(&bar, 1);
        publish();
        expect(&bar, 16 * 64);
        load(room, &map, 0, 0, &bar);
    }
    __syncthreads();
    wait(&bar, 0);
    for (int i = threadIdx.x; i < 512; i += blockDim.x) y[i] = room[i];
}
