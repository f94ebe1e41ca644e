template <int N, long K> struct T { static constexpr long v = T<N - 1, 2 * K>::v + T<N - 1, 2 * K + 1>::v; };
template <long K> struct T<0, K> { static constexpr long v = K; };
extern "C" __global__ void solve(const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (T<26, 0>::v) { if (i < n) y[i] = x[i] * x[i] + 1.0f; } }
