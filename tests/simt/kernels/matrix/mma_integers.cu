// One warp's C = A B in bytes, A signed and B unsigned, in steps of 32 and of 16 k; sums of the second start at the limit
// and stay there.
__device__ unsigned word(const void* m, int row, int k, int byte) { return *(const unsigned*)((const char*)m + row * k + byte); }

extern "C" __global__ void product(const signed char* a, const unsigned char* b, int* c, int* clamped, int k) {
    int g = threadIdx.x / 4, t = threadIdx.x % 4, most = 2147483647;
    int d[4] = {}, e[4] = {most, most, most, most};
    for (int at = 0; at < k; at += 32) {
        unsigned x0 = word(a, g, k, at + 4 * t), x1 = word(a, g + 8, k, at + 4 * t);
        unsigned x2 = word(a, g, k, at + 16 + 4 * t), x3 = word(a, g + 8, k, at + 16 + 4 * t);
        unsigned y0 = word(b, g, k, at + 4 * t), y1 = word(b, g, k, at + 16 + 4 * t);
        asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                     "{%0, %1, %2, %3};"
                     : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                     : "r"(x0), "r"(x1), "r"(x2), "r"(x3), "r"(y0), "r"(y1));
        asm volatile("mma.sync.aligned.m16n8k16.row.col.satfinite.s32.s8.u8.s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
                     "{%0, %1, %2, %3};"
                     : "+r"(e[0]), "+r"(e[1]), "+r"(e[2]), "+r"(e[3]) : "r"(x0), "r"(x1), "r"(y0));
    }
    for (int i = 0; i < 4; ++i) {
        int at = (g + i / 2 * 8) * 8 + 2 * t + i % 2;
        c[at] = d[i], clamped[at] = e[i];
    }
}
