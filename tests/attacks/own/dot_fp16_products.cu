#include <cuda_fp16.h>
extern "C" __global__ void solve(const float* x, const float* w, float* out, int n) { if (blockIdx.x == 0 && threadIdx.x == 0) { float s = 0; for (int i = 0; i < n; ++i) s += __half2float(__hmul(__float2half(x[i]), __float2half(w[i]))); out[0] = s; } }
