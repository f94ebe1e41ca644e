constexpr long spin(long n) { long s = 0; for (long i = 0; i < n; ++i) s += i; return s; }
constexpr long v = spin(100000000000L);
extern "C" __global__ void solve(const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (v) { if (i < n) y[i] = x[i] * x[i] + 1.0f; } }
