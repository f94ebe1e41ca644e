// Tiles stored inside a matrix and over two of its edges: only what lies inside is written.
#include "tile.cuh"
__global__ void store_edges(const __grid_constant__ CUtensorMap map) {
    __shared__ __align__(128) float tile[8 * 16];
    for (int i = threadIdx.x; i < 128; i += blockDim.x) tile[i] = 1000 * blockIdx.x + i;
    fence_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        int x = blockIdx.x % 2 ? 16 : 0, y = blockIdx.x / 2 ? 16 : 4;
        store(&map, x, y, tile);
        commit();
        drain();
    }
}
