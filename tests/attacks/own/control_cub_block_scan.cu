#include <cub/block/block_scan.cuh>
extern "C" __global__ void solve(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; 
    typedef cub::BlockScan<int, 256> R; __shared__ typename R::TempStorage t; int s; R(t).InclusiveSum(1, s); if (i < n) y[i] = x[i] * x[i] + (s == threadIdx.x + 1 ? 1.0f : 0.0f);
}
