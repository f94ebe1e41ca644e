extern "C" __global__ void double_it(const float* x, float* y, int n) {
    int i = threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
}
