extern "C" __global__ void gridstride(const float* x, float* y, int n) {
    for (int i = threadIdx.x % 32; i < n; i += 32) y[i] = 0.5f * x[i];
}
