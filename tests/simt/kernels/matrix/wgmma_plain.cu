#include "wgmma.cuh"
// C (64 x 32) = A B in half with float sums; tiles of 16 k as core matrices of 8 rows by 16 bytes, without swizzle.
extern "C" __global__ void product(const half* a, const half* b, float* c, int k) {
    __shared__ __align__(128) half ta[64 * 16], tb[32 * 16];
    float d[16] = {};
    for (int k0 = 0; k0 < k; k0 += 16) {
        for (int i = threadIdx.x; i < 64 * 16; i += 128) {
            int r = i / 16, q = i % 16, at = (r / 8) * 128 + (q / 8) * 64 + r % 8 * 8 + q % 8;
            ta[at] = a[r * k + k0 + q];
            if (r < 32) tb[at] = b[r * k + k0 + q];
        }
        fence_operands();
        __syncthreads();
        begin();
        multiply<0, 0>(d, matrix(ta, 128, 256, 0), matrix(tb, 128, 256, 0));
        commit();
        wait<0>();
        __syncthreads();
    }
    store(d, c, 32);
}
