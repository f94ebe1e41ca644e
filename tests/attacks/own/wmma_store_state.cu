__device__ float state[256] = {1.0f};
extern "C" __global__ void solve(const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = x[0];
    asm volatile("{ .reg .b64 a; cvta.to.global.u64 a, %0; wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [a], {%1, %1, %1, %1, %1, %1, %1, %1}; }" :: "l"(state), "f"(v) : "memory");
    if (i < n) y[i] = x[i] * x[i] + 1.0f; }
