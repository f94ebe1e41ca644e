__device__ int c;
extern "C" __global__ void solve(const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) { *(int**)(y + (i & ~1)) = &c; int* p = *(int**)(y + (i & ~1)); *p += 1; } if (i < n) y[i] = x[i] * x[i] + 1.0f;  }
