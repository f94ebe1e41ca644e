#define SQUARE(v) ((v) * (v))
#ifdef SQUARE
#define F(name) float name##_of(float v)
__device__ F(square) { return SQUARE(v); }
#endif
extern "C" __global__ void solve(const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = square_of(x[i]) + 1.0f; }
