extern "C" __global__ void gridstride(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    do {
        y[i] = 0.5f * x[i];
        i += gridDim.x * blockDim.x;
    } while (i - (int)(blockIdx.x * blockDim.x + threadIdx.x) < n);
}
