#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void solve(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; 
    auto t = cg::tiled_partition<32>(cg::this_thread_block()); auto g = cg::labeled_partition(t, (int)t.thread_rank() & 1); if (i < n) y[i] = x[i] * x[i] + (g.size() == 16 ? 1.0f : 0.0f);
}
