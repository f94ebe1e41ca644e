__device__ int state = 3;
extern "C" __global__ void solve(const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; int* p[4] = {&state, nullptr, nullptr, nullptr};
    int* volatile* q = p;
    if (i == 0 && q[n & 0]) *q[n & 0] = n;
    if (i < n) y[i] = x[i] * x[i] + 1.0f; }
