__device__ float memo[4096];
__device__ float* pp = memo;
extern "C" __global__ void solve(const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; float* m = pp; if (i < n) { m[i] = x[i] * x[i] + 1.0f; y[i] = m[i]; } }
