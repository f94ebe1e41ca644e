extern "C" __global__ void gridstride(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    while (i < n) {
        y[i] = x[i] / 2.0f;
        break;
    }
}
