#include <cuda/atomic>
extern "C" __global__ void solve(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; 
    __shared__ int c; if (threadIdx.x == 0) c = 0; __syncthreads(); cuda::atomic_ref<int, cuda::thread_scope_block> r(c); r.fetch_add(1, cuda::std::memory_order_relaxed); __syncthreads(); if (i < n) y[i] = x[i] * x[i] + (c == blockDim.x ? 1.0f : 0.0f);
}
