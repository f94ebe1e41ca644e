#include <cuda_pipeline_primitives.h>
extern "C" __global__ void solve(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; 
    __shared__ float s[256]; if (i < n) __pipeline_memcpy_async(s + threadIdx.x, x + i, 4); __pipeline_commit(); __pipeline_wait_prior(0); if (i < n) { float v = s[threadIdx.x]; y[i] = v * v + 1.0f; }
}
