__device__ const int t[4] = {1, 2, 3, 4};
extern "C" __global__ void solve(const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i == 0) ((volatile int*)t)[n & 3] += 1; if (i < n) y[i] = x[i] * x[i] + 1.0f;  }
