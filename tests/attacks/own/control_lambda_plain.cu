extern "C" __global__ void solve(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; 
    auto f = [](float v) { return v * v + 1.0f; }; if (i < n) y[i] = f(x[i]);
}
