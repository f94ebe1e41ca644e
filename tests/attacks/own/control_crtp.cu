template <class T> struct A { __device__ float go(float v) { return static_cast<T*>(this)->f(v); } };
struct D : A<D> { __device__ float f(float v) { return v * v + 1.0f; } };
extern "C" __global__ void solve(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; 
    D d; if (i < n) y[i] = d.go(x[i]);
}
