extern "C" __global__ void gridstride(const float* __restrict__ x, float* __restrict__ y, int n) {
    int stride = gridDim.x * blockDim.x;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (; i + 3 * stride < n; i += 4 * stride) {
        float a = x[i], b = x[i + stride], c = x[i + 2 * stride], d = x[i + 3 * stride];
        y[i] = 0.5f * a;
        y[i + stride] = 0.5f * b;
        y[i + 2 * stride] = 0.5f * c;
        y[i + 3 * stride] = 0.5f * d;
    }
    for (; i < n; i += stride) y[i] = 0.5f * x[i];
}
