#define CAT(a, b) a##b
#if 1
#endif
extern "C" __global__ void solve(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; 
    float CAT(a, b) = 1.0f; if (i < n) y[i] = x[i] * x[i] + ab;
}
