// Every block hands its numbers round the ring of the cluster, one place a step, into the next block's memory.
#include "cluster.cuh"
__global__ __cluster_dims__(4) void ring(const float* x, float* y) {
    __shared__ float slot[2][64];
    unsigned next = (rank() + 1) % blocks();
    float sum = 0;
    slot[0][threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];
    meet();
    for (int step = 0; step < 4; ++step) {
        float value = slot[step % 2][threadIdx.x];
        sum += (step + 1) * value;
        asm volatile("st.shared::cluster.f32 [%0], %1;" :: "r"(there(&slot[(step + 1) % 2][threadIdx.x], next)), "f"(value) : "memory");
        meet();
    }
    y[blockIdx.x * 64 + threadIdx.x] = sum;
}
