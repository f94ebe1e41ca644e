#include "wgmma.cuh"
// As wgmma_swizzle128 with one stage, but the pattern of the swizzle starts 128 bytes behind a multiple of 1024: the base
// offset says so.
extern "C" __global__ void product(const half* a, const half* b, float* c, int k) {
    __shared__ __align__(1024) char space[1024 + 96 * 128];
    char *ta = space + 128, *tb = space + 128 + 64 * 128;
    float d[16] = {};
    for (int k0 = 0; k0 < k; k0 += 64) {
        for (int i = threadIdx.x; i < 64 * 8; i += 128) {
            int r = i / 8, q = i % 8;
            *(uint4*)(ta + chunk(r, q, 128)) = *(const uint4*)&a[r * k + k0 + q * 8];
            if (r < 32) *(uint4*)(tb + chunk(r, q, 128)) = *(const uint4*)&b[r * k + k0 + q * 8];
        }
        fence_operands();
        __syncthreads();
        begin();
        for (int q = 0; q < 4; ++q)
            multiply<0, 0>(d, matrix(ta + q * 32, 0, 1024, 1, 1), matrix(tb + q * 32, 0, 1024, 1, 1));
        commit();
        wait<0>();
        __syncthreads();
    }
    store(d, c, 32);
}
