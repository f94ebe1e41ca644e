__constant__ int calls[1] = {0};
extern "C" __global__ void solve(const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i == 0) atomicAdd((int*)calls, 1); if (i < n) y[i] = x[i] * x[i] + 1.0f; }
