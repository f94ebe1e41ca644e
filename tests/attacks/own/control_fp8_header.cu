#include <cuda_fp8.h>
extern "C" __global__ void solve(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; 
    if (i < n) { __nv_fp8_e4m3 h(1.0f); y[i] = x[i] * x[i] + float(h); }
}
