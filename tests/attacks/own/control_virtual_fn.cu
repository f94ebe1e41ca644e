struct A { __device__ virtual float f(float v) const { return 0.0f; } };
struct D : A { __device__ float f(float v) const override { return v * v + 1.0f; } };
extern "C" __global__ void solve(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; 
    D d; A* a = &d; if (i < n) y[i] = a->f(x[i]);
}
