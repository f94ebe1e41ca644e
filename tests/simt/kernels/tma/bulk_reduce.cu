// cp.reduce.async.bulk to global memory: sums of floats, halves and long words, extremes, bits.
#include "tile.cuh"
#define REDUCE(kind, to, from)                                                                     \
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group." kind " [%0], [%1], 128;" \
                 :: "l"(to), "r"(at(from)) : "memory")
__global__ void bulk_reduce(float* f, unsigned short* h, u64* q, int* least, unsigned* bits, const float* x, const unsigned short* xh) {
    __shared__ __align__(128) float a[32];
    __shared__ __align__(128) unsigned short b[64];
    __shared__ __align__(128) u64 c[16];
    __shared__ __align__(128) int d[32];
    int t = threadIdx.x;
    a[t] = x[32 * blockIdx.x + t];
    b[t] = xh[t];
    b[t + 32] = xh[t + 32];
    if (t < 16) c[t] = 1ull << (t + 2 * blockIdx.x);
    d[t] = (t - 16) * (blockIdx.x + 1);
    fence_async();
    __syncwarp();
    if (t == 0) {
        REDUCE("add.f32", f, a);
        REDUCE("add.noftz.f16", h, b);
        REDUCE("add.u64", q, c);
        REDUCE("min.s32", least, d);
        REDUCE("xor.b32", bits, d);
        commit();
        drain();
    }
}
