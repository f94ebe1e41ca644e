// A 64 x 64 transpose in 32 x 32 tiles: swizzled loads, columns without bank conflicts, tile stores.
#include "tile.cuh"
__global__ void transpose(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to) {
    __shared__ __align__(1024) float in[32 * 32], out[32 * 32];
    __shared__ u64 bar;
    if (threadIdx.x == 0) {
        init(&bar, 1);
        publish();
        expect(&bar, sizeof(in));
        load(in, &from, 32 * blockIdx.x, 32 * blockIdx.y, &bar);
    }
    __syncthreads();
    wait(&bar, 0);
    int column = threadIdx.x % 32;
    for (int row = threadIdx.x / 32; row < 32; row += blockDim.x / 32) {
        int chunk = (row / 4) ^ (column % 8);
        out[row * 32 + column] = in[column * 32 + 4 * chunk + row % 4];
    }
    fence_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        store(&to, 32 * blockIdx.y, 32 * blockIdx.x, out);
        commit();
        drain();
    }
}
