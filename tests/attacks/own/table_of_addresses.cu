__device__ int a = 3, b = 4;
__device__ int* const table[2] = {&a, &b};
extern "C" __global__ void solve(const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i == 0) *table[n & 1] = n; if (i < n) y[i] = x[i] * x[i] + 1.0f; }
