template <class A, class B> struct P {};
template <class T> __device__ auto f(T t) { return f(P<T, T>{}); }
extern "C" __global__ void solve(const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; f(1); if (i < n) y[i] = x[i] * x[i] + 1.0f; }
