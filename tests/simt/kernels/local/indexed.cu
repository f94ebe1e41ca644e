// An array indexed by a run-time value lives in local memory.
extern "C" __global__ void rotate(const int* in, int* out, int by) {
    int a[8], i = threadIdx.x;
    for (int k = 0; k < 8; ++k)
        a[k] = in[8 * i + k];
    for (int k = 0; k < 8; ++k)
        a[(k + by + i) & 7] ^= a[k] << 1;
    int sum = 0;
    #pragma unroll 1  // unrolled, NVRTC 13.5 gives one of two texts
    for (int k = 0; k < 8; ++k)
        sum = 31 * sum + a[(k * by + i) & 7];
    out[i] = sum;
}
