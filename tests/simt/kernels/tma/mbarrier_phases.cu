// Arrivals of different kinds over four phases: all threads, counts, one that drops out, announced bytes.
#include "tile.cuh"
__global__ void mbarrier_phases(const int* x, int* y) {
    __shared__ int s[64];
    __shared__ u64 bar;
    int t = threadIdx.x;
    if (t == 0) init(&bar, 64);
    __syncthreads();
    s[t] = x[t];
    arrive(&bar);
    wait(&bar, 0);
    y[t] = s[63 - t];
    __syncthreads();
    s[t] = 2 * x[t];
    if (t % 2 == 0) asm volatile("{ .reg .b64 s; mbarrier.arrive.shared::cta.b64 s, [%0], 2; }" :: "r"(at(&bar)) : "memory");
    wait(&bar, 1);
    y[64 + t] = s[t ^ 1];
    if (t >= 48)
        asm volatile("{ .reg .b64 s; mbarrier.arrive_drop.shared::cta.b64 s, [%0]; }" :: "r"(at(&bar)) : "memory");
    else
        arrive(&bar);
    wait(&bar, 0);
    __syncthreads();
    if (t < 48) {
        s[t] = 3 * x[t];
        arrive(&bar);
    }
    wait(&bar, 1);
    y[128 + t] = s[t % 48];
    __syncthreads();
    if (t == 0) asm volatile("mbarrier.inval.shared::cta.b64 [%0];" :: "r"(at(&bar)) : "memory");
}
