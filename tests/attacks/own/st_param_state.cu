__device__ int c;
extern "C" __global__ void solve(const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; asm volatile("st.param.u32 [%0], 1;" :  : "l"(&c) : "memory"); if (i < n) y[i] = x[i] * x[i] + 1.0f;  }
