extern "C" __global__ void map1d(const float* x, float* y, int n) {
    int i = threadIdx.x;
    if (i < n) y[i] = x[i] * x[i];
}
