#include <cuda_fp16.h>
// One warp's C = A B by mma.sync for each operand type, straight from global memory: A (16 x k) and B (8 x k), both with k
// fastest, so that a lane finds its 32-bit words at (row, 4 bytes per quarter of the k step).
template <typename T> __device__ unsigned word(const T* m, int row, int k, int byte) {
    return *(const unsigned*)((const char*)(m + row * k) + byte);
}
__device__ void store(const float (&d)[4], float* c) {
    int g = threadIdx.x / 4, t = threadIdx.x % 4;
    c[g * 8 + 2 * t] = d[0], c[g * 8 + 2 * t + 1] = d[1], c[(g + 8) * 8 + 2 * t] = d[2], c[(g + 8) * 8 + 2 * t + 1] = d[3];
}
#define PRODUCT(NAME, T, OPCODE)                                                                                             \
    extern "C" __global__ void NAME(const T* a, const T* b, float* c, int k) {                                              \
        int g = threadIdx.x / 4, t = threadIdx.x % 4;                                                                       \
        float d[4] = {};                                                                                                    \
        for (int at = 0; at < k * (int)sizeof(T); at += 32) {                                                               \
            unsigned x0 = word(a, g, k, at + 4 * t), x1 = word(a, g + 8, k, at + 4 * t);                                    \
            unsigned x2 = word(a, g, k, at + 16 + 4 * t), x3 = word(a, g + 8, k, at + 16 + 4 * t);                          \
            unsigned y0 = word(b, g, k, at + 4 * t), y1 = word(b, g, k, at + 16 + 4 * t);                                   \
            asm volatile(OPCODE " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                         \
                         : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                                   \
                         : "r"(x0), "r"(x1), "r"(x2), "r"(x3), "r"(y0), "r"(y1));                                           \
        }                                                                                                                   \
        store(d, c);                                                                                                        \
    }
PRODUCT(halves, half, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
PRODUCT(brains, unsigned short, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32")
PRODUCT(tensor_floats, float, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32")
PRODUCT(eights, unsigned char, "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32")
