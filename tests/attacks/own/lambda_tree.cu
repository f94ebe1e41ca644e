#define L0(x) [&]{ return x; }()
#define L1(x) L0(L0(x)+L0(x))
#define L2(x) L1(L1(x)+L1(x))
#define L3(x) L2(L2(x)+L2(x))
#define L4(x) L3(L3(x)+L3(x))
#define L5(x) L4(L4(x)+L4(x))
extern "C" __global__ void solve(const float* x, float* y, int n) { y[0] = L5(1); }
