// Division, square root and conversions in double precision.
extern "C" __global__ void newton(const double* in, double* out, long long* whole) {
    int i = threadIdx.x;
    double a = in[i] * in[i] + 0.1, x = a;
    for (int k = 0; k < 8; ++k)
        x = 0.5 * (x + a / x);
    out[i] = x - sqrt(a) + fma(a, x, -1.0) / 3.0 + fmin(floor(a), 2.0);
    whole[i] = (long long)(a * 1e12) + __double2int_rn(in[i] * 10) + (long long)(float)a;
}
