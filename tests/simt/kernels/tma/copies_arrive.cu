// cp.async whose completion arrives at an mbarrier, counted beforehand and not.
#include "tile.cuh"
__global__ void copies_arrive(const float* x, float* y) {
    __shared__ __align__(16) float s[2][256];
    __shared__ u64 bar[2];
    int t = threadIdx.x;
    if (t == 0) {
        init(&bar[0], 64);
        init(&bar[1], 64);
    }
    __syncthreads();
    for (int k = 0; k < 2; ++k)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(at(&s[k][4 * t])), "l"(x + 256 * k + 4 * t) : "memory");
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" :: "r"(at(&bar[0])) : "memory");
    asm volatile("cp.async.mbarrier.arrive.shared::cta.b64 [%0];" :: "r"(at(&bar[1])) : "memory");
    arrive(&bar[1]);
    for (int k = 0; k < 2; ++k) {
        wait(&bar[k], 0);
        for (int i = 0; i < 4; ++i) y[256 * k + 64 * i + t] = s[k][255 - 64 * i - t];
    }
}
