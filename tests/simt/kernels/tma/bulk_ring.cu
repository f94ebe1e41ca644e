// Rows of bytes through a ring of two stages: loads one ahead, stores drained before a stage is filled again.
#include "tile.cuh"
__global__ void bulk_ring(const float* x, float* y) {
    constexpr int N = 128, STEPS = 6;
    __shared__ __align__(128) float stage[2][N];
    __shared__ u64 full[2];
    if (threadIdx.x == 0) {
        init(&full[0], 1);
        init(&full[1], 1);
        publish();
    }
    __syncthreads();
    for (int t = 0; t <= STEPS; ++t) {
        if (threadIdx.x == 0 && t < STEPS) {
            asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
            expect(&full[t % 2], sizeof(stage[0]));
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                         :: "r"(at(stage[t % 2])), "l"(x + N * t), "r"((int)sizeof(stage[0])), "r"(at(&full[t % 2])) : "memory");
        }
        if (t > 0) {
            int s = (t - 1) % 2;
            wait(&full[s], (t - 1) / 2 % 2);
            stage[s][threadIdx.x] = 2 * stage[s][threadIdx.x] + t;
            fence_async();
            __syncthreads();
            if (threadIdx.x == 0) {
                asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                             :: "l"(y + N * (t - 1)), "r"(at(stage[s])), "r"((int)sizeof(stage[0])) : "memory");
                commit();
                asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
            }
        }
    }
    if (threadIdx.x == 0) drain();
}
