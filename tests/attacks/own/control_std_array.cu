#include <cuda/std/array>
extern "C" __global__ void solve(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; 
    cuda::std::array<float, 4> t{1.f, 1.f, 1.f, 1.f}; if (i < n) y[i] = x[i] * x[i] + t[i & 3];
}
