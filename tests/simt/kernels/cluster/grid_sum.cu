// Two phases of a sum in one cooperative launch: blocks leave their parts, the grid meets, the first block adds them up.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void grid_sum(const float* x, float* part, float* y, int n) {
    __shared__ float sums[64];
    auto grid = cg::this_grid();
    float sum = 0;
    for (int i = grid.thread_rank(); i < n; i += grid.size()) sum += x[i];
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int step = 32; step; step /= 2) {
        if (threadIdx.x < step) sums[threadIdx.x] += sums[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0) part[blockIdx.x] = sums[0];
    grid.sync();
    if (grid.thread_rank() == 0) {
        float total = 0;
        for (int block = 0; block < gridDim.x; ++block) total += part[block];
        *y = total;
    }
}
