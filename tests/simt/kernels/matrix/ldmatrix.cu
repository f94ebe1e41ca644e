// Four matrices with ldmatrix from a pitch of 64 halves (rows meet in the same banks) and of 72 (no conflict), back with stmatrix.
extern "C" __global__ void tiles(const unsigned short* in, unsigned short* out) {
    __shared__ __align__(16) unsigned short wide[8][64], padded[8][72];
    for (int i = threadIdx.x; i < 8 * 32; i += 32)
        wide[i / 32][i % 32] = padded[i / 32][i % 32] = in[i];
    __syncwarp();
    int row = threadIdx.x % 8, column = threadIdx.x / 8 * 8;
    unsigned from = (unsigned)__cvta_generic_to_shared(&wide[row][column]);
    unsigned a, b, c, d;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(from) : "memory");
    unsigned to = (unsigned)__cvta_generic_to_shared(&padded[row][column]);
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};"
                 :: "r"(to), "r"(a), "r"(b), "r"(c), "r"(d) : "memory");
    __syncwarp();
    for (int i = threadIdx.x; i < 8 * 32; i += 32)
        out[i] = padded[i / 32][i % 32];
}
