extern "C" __global__ void solve(const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i] * x[i] + 1.0f; }
template<int N> __global__ void other(float* p) { *p = N; }
template __global__ void other<3>(float*);
