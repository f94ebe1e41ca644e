#include <cooperative_groups.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
extern "C" __global__ void solve(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; 
    auto t = cg::tiled_partition<32>(cg::this_thread_block()); int c = cg::inclusive_scan(t, 1); if (i < n) y[i] = x[i] * x[i] + (c == t.thread_rank() + 1 ? 1.0f : 0.0f);
}
