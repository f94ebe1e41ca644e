extern "C" __global__ void gridstride(const float* x, float* y, int n) {
    int stride = gridDim.x * blockDim.x;
    for (int i = n - 1 - int(blockIdx.x * blockDim.x + threadIdx.x); i >= 0; i -= stride) y[i] = x[i] / 2;
}
