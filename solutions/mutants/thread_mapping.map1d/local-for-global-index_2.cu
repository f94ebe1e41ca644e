extern "C" __global__ void map1d(const float* x, float* y, int n) {
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned i = warp * 32 + lane;
    if (i >= (unsigned)n) return;
    y[i] = x[i] * x[i];
}
