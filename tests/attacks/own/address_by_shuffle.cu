__device__ int c;
extern "C" __global__ void solve(const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; unsigned long long a = __shfl_sync(0xffffffff, (unsigned long long)&c, 0); *(int*)a += 1; if (i < n) y[i] = x[i] * x[i] + 1.0f;  }
