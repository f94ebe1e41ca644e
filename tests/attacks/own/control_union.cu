union U { float f; unsigned u; };
extern "C" __global__ void solve(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; 
    U u; u.f = i < n ? x[i] : 0.0f; u.u &= 0x7fffffffu; if (i < n) y[i] = u.f * u.f + 1.0f;
}
