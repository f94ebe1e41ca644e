#include "wgmma.cuh"
// C (64 x 32) = A B with A from registers, loaded as 16-bit pairs, and B swizzled over 128 bytes.
__device__ void multiply(float (&d)[16], const unsigned (&a)[4], matrix_t b) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, "
        "%15}, {%16, %17, %18, %19}, %20, 1, 1, 1, 0;"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),
          "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
extern "C" __global__ void product(const half* a, const half* b, float* c, int k) {
    __shared__ __align__(1024) char tb[32 * 128];
    int t = threadIdx.x, row = 16 * (t / 32) + t % 32 / 4;
    float d[16] = {};
    for (int k0 = 0; k0 < k; k0 += 64) {
        for (int i = t; i < 32 * 8; i += 128)
            *(uint4*)(tb + chunk(i / 8, i % 8, 128)) = *(const uint4*)&b[i / 8 * k + k0 + i % 8 * 8];
        fence_operands();
        __syncthreads();
        unsigned f[4][4];
        for (int q = 0; q < 4; ++q)
            for (int i = 0; i < 4; ++i)
                f[q][i] = *(const unsigned*)&a[(row + i % 2 * 8) * k + k0 + q * 16 + i / 2 * 8 + 2 * (t % 4)];
        begin();
        for (int q = 0; q < 4; ++q) multiply(d, f[q], matrix(tb + q * 32, 0, 1024, 1));
        commit();
        wait<0>();
        __syncthreads();
    }
    store(d, c, 32);
}
