// Tiles stored over the edges where a matrix begins: only what lies inside is written.
#include "tile.cuh"
__global__ void store_before(const __grid_constant__ CUtensorMap map) {
    __shared__ __align__(128) float tile[8 * 16];
    for (int i = threadIdx.x; i < 128; i += blockDim.x) tile[i] = 1000 * blockIdx.x + i;
    fence_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        int x = blockIdx.x % 2 ? 12 : -8, y = blockIdx.x / 2 ? 9 : -3;
        store(&map, x, y, tile);
        commit();
        drain();
    }
}
