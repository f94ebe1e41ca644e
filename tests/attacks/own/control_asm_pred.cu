extern "C" __global__ void solve(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; 
    asm volatile("{ .reg .pred p; .reg .f32 v; setp.lt.s32 p, %0, %1; @p ld.global.f32 v, [%2]; @p fma.rn.f32 v, v, v, 0f3F800000; @p st.global.f32 [%3], v; }" :: "r"(i), "r"(n), "l"(x + i), "l"(y + i) : "memory");
}
