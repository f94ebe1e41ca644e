__device__ constexpr int f() { int s = 0; while (true) ++s; return s; }
extern "C" __global__ void solve(const float* x, float* y, int n) { constexpr int v = f(); y[0] = v; }
