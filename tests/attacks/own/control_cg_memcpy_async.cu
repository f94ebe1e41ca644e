#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;
extern "C" __global__ void solve(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; 
    auto b = cg::this_thread_block(); __shared__ float s[256]; int base = blockIdx.x * 256; int m = min(256, n - base); if (m > 0) { cg::memcpy_async(b, s, x + base, sizeof(float) * m); cg::wait(b); float v = s[threadIdx.x]; if (i < n) y[i] = v * v + 1.0f; }
}
