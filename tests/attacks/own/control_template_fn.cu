template <int N> __device__ float sq(float v) { float r = 1.0f;
#pragma unroll
for (int k = 0; k < N; ++k) r *= v; return r; }
extern "C" __global__ void solve(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; 
    if (i < n) y[i] = sq<2>(x[i]) + 1.0f;
}
