#include "wgmma.cuh"
// C (128 x 32) = A B, two warpgroups, two stages of 64 k in rows of 128 swizzled bytes; a stage is filled while the other
// is multiplied.
__device__ void fill(char* ta, char* tb, const half* a, const half* b, int k, int k0) {
    for (int i = threadIdx.x; i < 128 * 8; i += 256) {
        int r = i / 8, q = i % 8;
        *(uint4*)(ta + chunk(r, q, 128)) = *(const uint4*)&a[r * k + k0 + q * 8];
        if (r < 32) *(uint4*)(tb + chunk(r, q, 128)) = *(const uint4*)&b[r * k + k0 + q * 8];
    }
    fence_operands();
}
extern "C" __global__ void product(const half* a, const half* b, float* c, int k) {
    __shared__ __align__(1024) char ta[2][128 * 128], tb[2][32 * 128];
    float d[16] = {};
    int group = threadIdx.x / 128;
    fill(ta[0], tb[0], a, b, k, 0);
    __syncthreads();
    for (int k0 = 0, s = 0; k0 < k; k0 += 64, s ^= 1) {
        begin();
        for (int q = 0; q < 4; ++q)
            multiply<0, 0>(d, matrix(ta[s] + group * 64 * 128 + q * 32, 0, 1024, 1), matrix(tb[s] + q * 32, 0, 1024, 1));
        commit();
        if (k0 + 64 < k) fill(ta[s ^ 1], tb[s ^ 1], a, b, k, k0 + 64);
        wait<0>();
        __syncthreads();
    }
    store(d, c + group * 64 * 32, 32);
}
