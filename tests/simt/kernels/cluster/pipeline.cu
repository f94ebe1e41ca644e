// The first block produces, the second consumes: bytes go straight into its shared memory, mbarriers of both say when.
#include "cluster.cuh"
__global__ __cluster_dims__(2) void pipeline(const float* x, float* y, int steps) {
    __shared__ __align__(128) float stage[2][64];
    __shared__ u64 full[2], empty[2];
    int t = threadIdx.x;
    if (t == 0) {
        for (int s = 0; s < 2; ++s) { init(&full[s], 1); init(&empty[s], 64); }
        publish();
    }
    meet();
    for (int step = 0; step < steps; ++step) {
        int s = step % 2, parity = step / 2 % 2;
        if (rank() == 0) {
            if (step >= 2) wait(&empty[s], parity ^ 1);
            stage[s][t] = 2 * x[step * 64 + t];
            asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
            __syncthreads();
            if (t == 0)
                asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];"
                             :: "r"(there(stage[s], 1)), "r"(at(stage[s])), "r"(there(&full[s], 1)) : "memory");
        } else {
            if (t == 0) expect(&full[s], 256);
            wait(&full[s], parity);
            y[step * 64 + t] = stage[s][63 - t];
            arrive_there(&empty[s], 0);
        }
    }
    meet();
}
