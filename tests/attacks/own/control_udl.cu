__device__ constexpr float operator""_f(long double v) { return (float)v; }
extern "C" __global__ void solve(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; 
    if (i < n) y[i] = x[i] * x[i] + float(1.0_f);
}
