// A warp's 16×8 tile of C = A B in m16n8k16 steps; A and B come by ldmatrix from padded shared memory.
extern "C" __global__ void gemm(const unsigned short* a, const unsigned short* b, float* c, int n) {
    __shared__ __align__(16) unsigned short sa[16][24], sb[16][24];
    int row = blockIdx.y * 16, column = blockIdx.x * 8, lane = threadIdx.x;
    float d[4] = {};
    for (int k = 0; k < n; k += 16) {
        for (int i = lane; i < 256; i += 32)
            sa[i / 16][i % 16] = a[(row + i / 16) * n + k + i % 16];
        for (int i = lane; i < 128; i += 32)
            sb[i / 8][i % 8] = b[(k + i / 8) * n + column + i % 8];
        __syncwarp();
        unsigned x[4], y[2];
        unsigned from_a = (unsigned)__cvta_generic_to_shared(&sa[lane % 16][lane / 16 * 8]);
        unsigned from_b = (unsigned)__cvta_generic_to_shared(&sb[lane % 16][0]);
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(from_a) : "memory");
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                     : "=r"(y[0]), "=r"(y[1]) : "r"(from_b) : "memory");
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                     "{%0, %1, %2, %3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
        __syncwarp();
    }
    float2* to = (float2*)(c + (row + lane / 4) * n + column + lane % 4 * 2);
    to[0] = make_float2(d[0], d[1]);
    to[8 * n / 2] = make_float2(d[2], d[3]);
}
