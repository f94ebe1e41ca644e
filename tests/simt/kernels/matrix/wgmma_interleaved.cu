#include "wgmma.cuh"
// C (64 x 32) = A B with both operands' rows running fastest and no swizzle: core matrices of 8 k by 8 rows.
extern "C" __global__ void product(const half* a, const half* b, float* c, int k) {
    __shared__ __align__(128) char ta[64 * 32], tb[32 * 32];
    float d[16] = {};
    for (int k0 = 0; k0 < k; k0 += 16) {
        for (int i = threadIdx.x; i < 16 * 8; i += 128) {
            int r = i / 8, q = i % 8;
            *(uint4*)(ta + q * 128 + r / 8 * 1024 + r % 8 * 16) = *(const uint4*)&a[(k0 + r) * 64 + q * 8];
            if (q < 4) *(uint4*)(tb + q * 128 + r / 8 * 512 + r % 8 * 16) = *(const uint4*)&b[(k0 + r) * 32 + q * 8];
        }
        fence_operands();
        __syncthreads();
        begin();
        multiply<1, 1>(d, matrix(ta, 1024, 128, 0), matrix(tb, 512, 128, 0));
        commit();
        wait<0>();
        __syncthreads();
    }
    store(d, c, 32);
}
