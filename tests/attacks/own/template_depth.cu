template <int N> struct T { enum { v = T<N - 1>::v + T<N - 2>::v }; };
template <> struct T<0> { enum { v = 0 }; };
template <> struct T<1> { enum { v = 1 }; };
extern "C" __global__ void solve(const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (T<100000>::v) { if (i < n) y[i] = x[i] * x[i] + 1.0f; } }
