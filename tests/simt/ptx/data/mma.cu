extern "C" __global__ void k(const unsigned* a, const unsigned* b, float* c)
{
    int t = threadIdx.x;
    float d[4] = {0, 0, 0, 0};
    __shared__ unsigned s[256];
    s[t] = a[t];
    __syncwarp();
    unsigned r[4], p = __cvta_generic_to_shared(s + t);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(p & ~15u));
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(b[t]), "r"(b[t + 32]));
    for (int i = 0; i < 4; i++)
        c[4 * t + i] = d[i];
}
