extern "C" __global__ void gridstride(const float* x, float* y, int n) {
    if (blockIdx.x > 0) return;
    for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = 0.5f * x[i];
}
