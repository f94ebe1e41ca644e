__constant__ float t[32768] = {1.0f};
extern "C" __global__ void solve(const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (t[n] == 0) { if (i < n) y[i] = x[i] * x[i] + 1.0f; } }
