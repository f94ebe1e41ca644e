extern "C" __global__ void gridstride(const float* x, float* y, int n) {
    int threads = gridDim.x * blockDim.x, piece = (n + threads - 1) / threads;
    int first = (blockIdx.x * blockDim.x + threadIdx.x) * piece;
    for (int i = first; i < n && i < first + piece; ++i) y[i] = 0.5f * x[i];
}
