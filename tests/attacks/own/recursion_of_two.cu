__device__ __noinline__ int r2(int k);
__device__ __noinline__ int r1(int k) { return k < 0 ? 0 : 1 + r2(k + 1) * 3; }
__device__ __noinline__ int r2(int k) { return 2 + r1(k); }
extern "C" __global__ void solve(const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = r1(n + i); }
