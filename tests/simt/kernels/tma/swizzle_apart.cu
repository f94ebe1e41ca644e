// The pattern of a swizzle hangs on the address: a tile that starts three lines after a multiple of 1024 bytes.
#include "tile.cuh"
__global__ void swizzle_apart(const __grid_constant__ CUtensorMap map, int* y) {
    __shared__ __align__(1024) int room[1024];
    __shared__ u64 bar;
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) room[i] = -1;
    fence_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        init(&bar, 1);
        publish();
        expect(&bar, 2048);
        load(room + 96, &map, 0, 0, &bar);
    }
    __syncthreads();
    wait(&bar, 0);
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) y[i] = room[i];
}
