#define A asm volatile("add.f32 %0, %0, %1;" : "+f"(s) : "f"(x[n]));
#define B A A A A A A A A A A
#define C B B B B B B B B B B
#define D C C C C C C C C C C
#define E D D D D D D D D D D
extern "C" __global__ void solve(const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; float s = x[0]; E E E if (i < n) y[i] = s; }
