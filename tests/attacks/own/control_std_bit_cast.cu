#include <cuda/std/bit>
extern "C" __global__ void solve(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; 
    if (i < n) { unsigned u = cuda::std::bit_cast<unsigned>(x[i]); float v = cuda::std::bit_cast<float>(u & 0x7fffffffu); y[i] = v * v + 1.0f; }
}
