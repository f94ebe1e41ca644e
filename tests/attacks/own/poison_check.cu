extern "C" __global__ void solve(const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n && y[i] != y[i]) y[i] = 5.0f; }
