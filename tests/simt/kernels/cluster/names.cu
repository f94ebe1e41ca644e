// What a block knows of its cluster, in a grid of two dimensions; generic addresses into another block's memory.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ __cluster_dims__(2, 2) void names(int* y) {
    __shared__ int card[4];
    auto cluster = cg::this_cluster();
    unsigned x, ny, cx, cy, ncx;
    asm volatile("mov.u32 %0, %%cluster_ctaid.x;" : "=r"(x));
    asm volatile("mov.u32 %0, %%cluster_nctaid.y;" : "=r"(ny));
    asm volatile("mov.u32 %0, %%clusterid.x;" : "=r"(cx));
    asm volatile("mov.u32 %0, %%clusterid.y;" : "=r"(cy));
    asm volatile("mov.u32 %0, %%nclusterid.x;" : "=r"(ncx));
    if (threadIdx.x < 4) card[threadIdx.x] = 1000 * cx + 100 * cy + 10 * cluster.block_rank() + threadIdx.x;
    cluster.sync();
    if (threadIdx.x < 4) {
        int block = blockIdx.y * gridDim.x + blockIdx.x;
        int* other = cluster.map_shared_rank(card, 3 - cluster.block_rank());
        y[8 * block + threadIdx.x] = other[threadIdx.x];
        y[8 * block + 4 + threadIdx.x] = x + 10 * ny + 100 * ncx + 1000 * cluster.num_blocks() + 10000 * cluster.query_shared_rank(other);
    }
    cluster.sync();
}
