#include "wgmma.cuh"
// C (64 x 16) = A B in half with half sums, two in each register.
__device__ void multiply(unsigned (&d)[4], matrix_t a, matrix_t b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n16k16.f16.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "l"(a), "l"(b));
}
extern "C" __global__ void product(const half* a, const half* b, half* c, int k) {
    __shared__ __align__(1024) char ta[64 * 128], tb[16 * 128];
    unsigned d[4] = {};
    int step = 128 / sizeof(half);
    for (int k0 = 0; k0 < k; k0 += step) {
        for (int i = threadIdx.x; i < 64 * 8; i += 128) {
            int r = i / 8, q = i % 8;
            *(uint4*)(ta + chunk(r, q, 128)) = *(const uint4*)&a[r * k + k0 + q * step / 8];
            if (r < 16) *(uint4*)(tb + chunk(r, q, 128)) = *(const uint4*)&b[r * k + k0 + q * step / 8];
        }
        fence_operands();
        __syncthreads();
        begin();
        for (int q = 0; q < 4; ++q) multiply(d, matrix(ta + q * 32, 0, 1024, 1), matrix(tb + q * 32, 0, 1024, 1));
        commit();
        wait<0>();
        __syncthreads();
    }
    half h[8];
    for (int i = 0; i < 4; ++i) {
        h[2 * i] = __ushort_as_half(d[i] & 0xFFFF);
        h[2 * i + 1] = __ushort_as_half(d[i] >> 16);
    }
    store(h, c, 16);
}
