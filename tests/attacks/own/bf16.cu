#include <cuda_bf16.h>
extern "C" __global__ void solve(const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) { __nv_bfloat16 v = __float2bfloat16(x[i]); y[i] = __bfloat162float(__hfma(v, v, __float2bfloat16(1.0f))); } }
