__device__ int a_[1u << 28] = {1};
extern "C" __global__ void solve(const float* x, float* y, int n) { y[0] = a_[n]; }
