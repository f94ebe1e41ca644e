__constant__ float c[2] = {1.0f, 2.0f};
__device__ const float d[3] = {1.0f, 2.0f, 3.0f};
extern "C" __global__ void solve(const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i] * x[i] + c[0] * d[0]; }
