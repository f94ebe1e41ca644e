__device__ __noinline__ int down(int n) { volatile int a[64]; a[n & 63] = n; return n == 0 ? 0 : down(n - 1) + a[n & 63]; }
extern "C" __global__ void solve(const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; int d = down(100000 + n); if (i < n) y[i] = x[i] * x[i] + 1.0f + 0 * d; }
