#include "wgmma.cuh"
// C (64 x 16) = A B in tf32, of which floats keep 10 bits behind the point, 32 k at a time.
__device__ void multiply(float (&d)[8], matrix_t a, matrix_t b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n16k8.f32.tf32.tf32 {%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, 1, 1, 1;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
                 : "l"(a), "l"(b));
}
extern "C" __global__ void product(const float* a, const float* b, float* c, int k) {
    __shared__ __align__(1024) char ta[64 * 128], tb[16 * 128];
    float d[8] = {};
    int step = 128 / sizeof(float);
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
    store(d, c, 16);
}
