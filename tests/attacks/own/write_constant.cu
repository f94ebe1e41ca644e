__constant__ float c[2] = {1.0f, 2.0f};
extern "C" __global__ void solve(const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x;if (i < n) y[i] = x[i] * x[i] + 1.0f; if (i == 0) *(volatile float*)((size_t)c) = 3.0f; }
