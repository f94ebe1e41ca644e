extern "C" __global__ void solve(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }
