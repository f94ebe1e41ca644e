extern "C" __global__ void solve(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; 
    float t[1024]; for (int q = 0; q < 1024; ++q) t[q] = 1.0f; if (i < n) y[i] = x[i] * x[i] + t[i & 1023];
}
