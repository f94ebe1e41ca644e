extern "C" __global__ void gridstride(const float* x, float* y, int n) {
    int threads = gridDim.x * blockDim.x;
    int i = threadIdx.x;
    while (i < n) {
        float value = x[i];
        y[i] = 0.5f * value;
        i += threads;
    }
}
