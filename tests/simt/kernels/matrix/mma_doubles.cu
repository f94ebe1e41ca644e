// One warp's C (16 x 8) = A B in double: two m8n8k4, and the same rows by one m16n8k8, which sm_90 has.
extern "C" __global__ void product(const double* a, const double* b, double* c, double* wide, int k) {
    int g = threadIdx.x / 4, t = threadIdx.x % 4;
    double d[4] = {}, e[4] = {};
    for (int k0 = 0; k0 < k; k0 += 4) {
        double y = b[g * k + k0 + t];
        for (int i = 0; i < 2; ++i)
            asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                         : "+d"(d[2 * i]), "+d"(d[2 * i + 1]) : "d"(a[(g + 8 * i) * k + k0 + t]), "d"(y));
    }
    for (int k0 = 0; k0 < k; k0 += 8)
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                     "{%0, %1, %2, %3};"
                     : "+d"(e[0]), "+d"(e[1]), "+d"(e[2]), "+d"(e[3])
                     : "d"(a[g * k + k0 + t]), "d"(a[(g + 8) * k + k0 + t]), "d"(a[g * k + k0 + 4 + t]),
                       "d"(a[(g + 8) * k + k0 + 4 + t]), "d"(b[g * k + k0 + t]), "d"(b[g * k + k0 + 4 + t]));
    for (int i = 0; i < 4; ++i) {
        int at = (g + i / 2 * 8) * 8 + 2 * t + i % 2;
        c[at] = d[i], wide[at] = e[i];
    }
}
