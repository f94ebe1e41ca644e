template <int N> __device__ __noinline__ float part(const float* x, int n) {
    volatile float a[3000];
    for (int k = 0; k < 3000; ++k) a[k] = x[n % 7] + N;
    return a[n % 3000] + part<N - 1>(x, n);
}
template <> __device__ __noinline__ float part<0>(const float* x, int n) { return 0.0f; }
extern "C" __global__ void solve(const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i] * x[i] + 1.0f + 0.0f * part<5>(x, n); }
