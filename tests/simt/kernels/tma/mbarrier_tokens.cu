// The state of an arrival is what a wait names; its pending count is what was left before it.
#include "tile.cuh"
__global__ void mbarrier_tokens(const int* x, int* y, unsigned* left) {
    __shared__ int s[32];
    __shared__ u64 bar;
    int t = threadIdx.x;
    if (t == 0) init(&bar, 32);
    __syncwarp();
    s[t] = x[t];
    __syncwarp();
    u64 state;
    unsigned count, done = 0;
    for (int lane = 0; lane < 32; ++lane) {
        if (t == lane) asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=l"(state) : "r"(at(&bar)) : "memory");
        __syncwarp();
    }
    asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(count) : "l"(state));
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.test_wait.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(at(&bar)), "l"(state) : "memory");
    y[t] = s[31 - t];
    left[t] = count;
}
