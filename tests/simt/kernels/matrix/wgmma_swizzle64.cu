#include "wgmma.cuh"
// C (64 x 32) = A B with A row by row in rows of 64 swizzled bytes, and B (k x 32) as it lies: its columns run fastest.
extern "C" __global__ void product(const half* a, const half* b, float* c, int k) {
    __shared__ __align__(1024) char ta[64 * 64], tb[32 * 64];
    float d[16] = {};
    for (int k0 = 0; k0 < k; k0 += 32) {
        for (int i = threadIdx.x; i < 64 * 4; i += 128) {
            int r = i / 4, q = i % 4;
            *(uint4*)(ta + chunk(r, q, 64)) = *(const uint4*)&a[r * k + k0 + q * 8];
            if (r < 32) *(uint4*)(tb + chunk(r, q, 64)) = *(const uint4*)&b[(k0 + r) * 32 + q * 8];
        }
        fence_operands();
        __syncthreads();
        begin();
        for (int q = 0; q < 2; ++q)
            multiply<0, 1>(d, matrix(ta + q * 32, 0, 512, 2), matrix(tb + q * 16 * 64, 0, 512, 2));
        commit();
        wait<0>();
        __syncthreads();
    }
    store(d, c, 32);
}
