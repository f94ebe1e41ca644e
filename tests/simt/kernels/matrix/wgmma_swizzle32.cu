#include "wgmma.cuh"
// C (64 x 32) = A B with both operands' rows running fastest: A (k x 64) and B (k x 32), in rows of 32 swizzled bytes that
// hold 16 rows of the matrix each, one piece of 16 rows after the other.
extern "C" __global__ void product(const half* a, const half* b, float* c, int k) {
    __shared__ __align__(1024) char ta[4 * 16 * 32], tb[2 * 16 * 32];
    float d[16] = {};
    for (int k0 = 0; k0 < k; k0 += 16) {
        for (int i = threadIdx.x; i < 16 * 8; i += 128) {
            int r = i / 8, q = i % 8;  // 8 rows of A from 8 q on, at one k
            *(uint4*)(ta + q / 2 * 512 + chunk(r, q % 2, 32)) = *(const uint4*)&a[(k0 + r) * 64 + q * 8];
            if (q < 4) *(uint4*)(tb + q / 2 * 512 + chunk(r, q % 2, 32)) = *(const uint4*)&b[(k0 + r) * 32 + q * 8];
        }
        fence_operands();
        __syncthreads();
        begin();
        multiply<1, 1>(d, matrix(ta, 512, 256, 3), matrix(tb, 512, 256, 3));
        commit();
        wait<0>();
        __syncthreads();
    }
    store(d, c, 32);
}
