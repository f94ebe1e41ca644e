#include <cuda_bf16.h>
extern "C" __global__ void solve(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; 
    if (i < n) { __nv_bfloat16 h = __float2bfloat16(1.0f); y[i] = x[i] * x[i] + __bfloat162float(h); }
}
