__device__ int c;
extern "C" __global__ void solve(const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; __shared__ int* p; if (threadIdx.x == 0) p = &c; __syncthreads(); *p += 1; if (i < n) y[i] = x[i] * x[i] + 1.0f;  }
