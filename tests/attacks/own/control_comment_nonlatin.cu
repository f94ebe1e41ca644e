extern "C" __global__ void solve(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; 
    // Ünïcödé 漢字 🙂 العربية עברית
    if (i < n) y[i] = x[i] * x[i] + 1.0f; 
}
