extern "C" __global__ void solve(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; 
    __shared__ float s[256]; unsigned p = (unsigned)__cvta_generic_to_shared(s + threadIdx.x); if (i < n) asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(p), "l"(x + i)); asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;" ::: "memory"); __syncthreads(); if (i < n) { float v = s[threadIdx.x]; y[i] = v * v + 1.0f; }
}
