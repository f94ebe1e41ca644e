extern "C" __global__ void double_it(const float* x, float* y, int n) {
    const unsigned first = blockIdx.x * blockDim.x;
    float value = x[first + threadIdx.x];
    y[first + threadIdx.x] = value + value;
}
