extern "C" __device__ int printf(const char*, ...);
extern "C" __global__ void solve(const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; int k = 0; if (i == 0) printf("a%n b\n", &k); if (i < n) y[i] = x[i] * x[i] + 1.0f; }
