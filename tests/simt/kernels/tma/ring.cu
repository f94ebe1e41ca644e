// One warp brings tiles into a ring of three stages, two warps add them up: full and empty barriers.
#include "tile.cuh"
constexpr int STAGES = 3, TILES = 8;
__global__ void ring(const __grid_constant__ CUtensorMap map, float* y) {
    __shared__ __align__(128) float stage[STAGES][8 * 32];
    __shared__ u64 full[STAGES], empty[STAGES];
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; ++s) {
            init(&full[s], 1);
            init(&empty[s], 64);
        }
        publish();
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        if (threadIdx.x == 0)
            for (int t = 0; t < TILES; ++t) {
                int s = t % STAGES;
                wait(&empty[s], (t / STAGES + 1) % 2);
                expect(&full[s], sizeof(stage[s]));
                load(stage[s], &map, 32 * (t % 2), 8 * (t / 2), &full[s]);
            }
    } else {
        int lane = threadIdx.x - 32;
        float sums[4] = {};
        for (int t = 0; t < TILES; ++t) {
            int s = t % STAGES;
            wait(&full[s], t / STAGES % 2);
            for (int i = 0; i < 4; ++i) sums[i] += stage[s][64 * i + lane];
            arrive(&empty[s]);
        }
        for (int i = 0; i < 4; ++i) y[64 * i + lane] = sums[i];
    }
}
