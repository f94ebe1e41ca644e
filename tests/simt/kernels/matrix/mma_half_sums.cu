#include <cuda_fp16.h>
// One warp's C (16 x 8) = A B in half with half sums, by m16n8k8; A from shared memory by ldmatrix, C back by stmatrix.
extern "C" __global__ void product(const half* a, const half* b, half* c, int k) {
    __shared__ __align__(16) half sa[16][8], sc[16][8];
    int lane = threadIdx.x, g = lane / 4, t = lane % 4;
    unsigned d[2] = {};
    for (int k0 = 0; k0 < k; k0 += 8) {
        for (int i = lane; i < 128; i += 32) sa[i / 8][i % 8] = a[i / 8 * k + k0 + i % 8];
        __syncwarp();
        unsigned x[2], y = *(const unsigned*)&b[g * k + k0 + 2 * t], row = __cvta_generic_to_shared(&sa[lane % 16][0]);
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(x[0]), "=r"(x[1]) : "r"(row) : "memory");
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3}, {%4}, {%0, %1};"
                     : "+r"(d[0]), "+r"(d[1]) : "r"(x[0]), "r"(x[1]), "r"(y));
        __syncwarp();
    }
    unsigned row = __cvta_generic_to_shared(&sc[lane % 16][0]);
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" :: "r"(row), "r"(d[0]), "r"(d[1]) : "memory");
    __syncwarp();
    for (int i = lane; i < 128; i += 32) c[i] = sc[i / 8][i % 8];
}
