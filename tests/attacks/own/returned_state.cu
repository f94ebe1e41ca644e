__device__ int state = 3;
__device__ __noinline__ int* where(int n) { return n > 2 ? &state : nullptr; }
extern "C" __global__ void solve(const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i == 0) *where(n) = n; if (i < n) y[i] = x[i] * x[i] + 1.0f; }
