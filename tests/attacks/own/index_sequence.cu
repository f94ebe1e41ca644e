#include <cuda/std/utility>
extern "C" __global__ void solve(const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; cuda::std::make_index_sequence<100000000> s; (void)s; if (i < n) y[i] = x[i] * x[i] + 1.0f; }
