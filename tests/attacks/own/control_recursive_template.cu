template <int N> __device__ float power(float v) { return v * power<N - 1>(v); }
template <> __device__ float power<0>(float) { return 1.0f; }
extern "C" __global__ void solve(const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = power<2>(x[i]) + 1.0f; }
