// A sum over a cluster: every block leaves its part, the first one adds the parts up through distributed shared memory.
#include "cluster.cuh"
__global__ __cluster_dims__(4) void reduce(const float* x, float* y) {
    __shared__ float part;
    float sum = x[blockIdx.x * 32 + threadIdx.x];
    for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
    if (threadIdx.x == 0) part = sum;
    meet();
    if (rank() == 0 && threadIdx.x < blocks()) {
        float other;
        asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(other) : "r"(there(&part, threadIdx.x)));
        for (int step = 2; step; step /= 2) other += __shfl_xor_sync(0xf, other, step);
        if (threadIdx.x == 0) y[blockIdx.x / 4] = other;
    }
    meet();
}
