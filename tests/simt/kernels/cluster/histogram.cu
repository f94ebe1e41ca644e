// A histogram whose bins lie over the shared memory of a cluster: each block owns some, all add to them.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ __cluster_dims__(2) void histogram(const int* x, int* bins, int n) {
    __shared__ int mine[32];
    auto cluster = cg::this_cluster();
    if (threadIdx.x < 32) mine[threadIdx.x] = 0;
    cluster.sync();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int bin = x[i];
        atomicAdd(cluster.map_shared_rank(mine, bin / 32) + bin % 32, 1);
    }
    cluster.sync();
    if (threadIdx.x < 32) atomicAdd(&bins[32 * cluster.block_rank() + threadIdx.x], mine[threadIdx.x]);
}
