extern "C" __global__ void wide_index(const float* x, float* y, int n, int step) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int far = i * step;
    long long from = (long long)far % n;
    y[i] = x[from];
}
