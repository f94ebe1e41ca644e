extern "C" __global__ void solve(const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = i == n / 2 ? 0.0f / 0.0f * x[i] : x[i] * x[i] + 1.0f; }
