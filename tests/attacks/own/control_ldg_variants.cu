extern "C" __global__ void solve(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; 
    if (i < n) { float v = __ldg(x + i) * 0.25f + __ldca(x + i) * 0.25f + __ldcg(x + i) * 0.25f + __ldcv(x + i) * 0.25f; y[i] = v * v + 1.0f; }
}
