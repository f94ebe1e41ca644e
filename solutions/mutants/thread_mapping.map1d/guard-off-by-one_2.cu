extern "C" __global__ void map1d(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > n) return;
    float value = x[i];
    y[i] = value * value;
}
