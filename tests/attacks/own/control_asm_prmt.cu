extern "C" __global__ void solve(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; 
    unsigned r; asm("prmt.b32 %0, %1, %1, 0x3210;" : "=r"(r) : "r"(i)); int j = r; if (j < n) y[j] = x[j] * x[j] + 1.0f;
}
