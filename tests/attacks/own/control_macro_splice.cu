#define SQ(v) \
    ((v) * \
     (v))
extern "C" __global__ void solve(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; 
    int a = SQ(3); if (i < n) y[i] = x[i] * x[i] + 1.0f;  if (a == 77) y[0] = 0;
}
