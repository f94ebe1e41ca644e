// Functions of the maths library, accurate and fast, far outside the fast path's range too.
extern "C" __global__ void functions(const float* in, float* out) {
    int i = threadIdx.x;
    float x = in[i], a = fabsf(x) + 0.01f;
    out[8 * i] = sinf(x) + cosf(x * 100000.0f);
    out[8 * i + 1] = expf(x) + logf(a);
    out[8 * i + 2] = powf(a, x) + tanhf(x);
    out[8 * i + 3] = sqrtf(a) + rsqrtf(a) + 1 / a;
    out[8 * i + 4] = __expf(x) + __logf(a) + __sinf(x);
    out[8 * i + 5] = __fdividef(x, a) + fmodf(x, 0.3f);
    out[8 * i + 6] = roundf(x) + truncf(x) + ceilf(x) + rintf(x);
    out[8 * i + 7] = erff(x) + cbrtf(x) + atan2f(x, a);
}
