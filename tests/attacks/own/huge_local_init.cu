extern "C" __global__ void solve(const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; float t[1 << 22] = {1.0f}; t[i] = x[0]; if (i < n) y[i] = t[n]; }
