extern "C" __device__ int printf(const char*, ...);
__device__ __noinline__ void say(const char* what, int n) { printf("%s %d\n", what, n); }
extern "C" __global__ void solve(const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i == 0) say(n > 70 ? "large" : "small", n); if (i < n) y[i] = x[i] * x[i] + 1.0f; }
