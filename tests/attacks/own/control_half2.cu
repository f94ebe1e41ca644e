#include <cuda_fp16.h>
extern "C" __global__ void solve(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; 
    if (i < n) { half2 h = __floats2half2_rn(0.5f, 0.5f); y[i] = x[i] * x[i] + __low2float(h) + __high2float(h); }
}
