#include <cuda_bf16.h>
extern "C" __global__ void solve(const float* x, const float* w, float* out, int n) { if (blockIdx.x == 0 && threadIdx.x == 0) { float s = 0; for (int i = 0; i < n; ++i) s += __bfloat162float(__float2bfloat16(x[i])) * __bfloat162float(__float2bfloat16(w[i])); out[0] = s; } }
