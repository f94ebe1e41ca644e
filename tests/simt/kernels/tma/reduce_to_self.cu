// A bulk reduction from shared memory into the block's own shared memory. The hardware takes it in a launch with clusters only.
#include "tile.cuh"
__global__ __cluster_dims__(1, 1, 1) void reduce_to_self(const int* x, int* y) {
    __shared__ __align__(128) int from[64], sums[64];
    __shared__ u64 bar;
    from[threadIdx.x] = x[threadIdx.x];
    sums[threadIdx.x] = 100;
    if (threadIdx.x == 0) {
        init(&bar, 1);
        publish();
    }
    fence_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        expect(&bar, sizeof(from));
        asm volatile("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.s32 [%0], [%1], 256, [%2];"
                     :: "r"(at(sums)), "r"(at(from)), "r"(at(&bar)) : "memory");
    }
    wait(&bar, 0);
    y[threadIdx.x] = sums[63 - threadIdx.x];
}
