extern "C" __global__ void solve(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; 
    constexpr float t[4] = {1.0f, 1.0f, 1.0f, 1.0f}; if (i < n) y[i] = x[i] * x[i] + t[i % 4];
}
