template <class... T> __device__ float sum(T... v) { return (v + ...); }
extern "C" __global__ void solve(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; 
    if (i < n) y[i] = sum(x[i] * x[i], 0.5f, 0.25f, 0.25f);
}
