__constant__ const char* names[3] = {"a", "b", "c"};
extern "C" __global__ void solve(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; 
    if (i == 0) printf("%s\n", names[n % 3]); if (i < n) y[i] = x[i] * x[i] + 1.0f; 
}
