#include <cub/warp/warp_reduce.cuh>
extern "C" __global__ void solve(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; 
    typedef cub::WarpReduce<int> R; __shared__ typename R::TempStorage t[8]; int s = R(t[threadIdx.x / 32]).Sum(1); s = __shfl_sync(0xffffffff, s, 0); if (i < n) y[i] = x[i] * x[i] + s / 32;
}
