// A bulk copy from shared memory to the block's own shared memory; its bytes are counted at an mbarrier. The hardware takes it in a launch with clusters only.
#include "tile.cuh"
__global__ __cluster_dims__(1, 1, 1) void copy_to_self(const int* x, int* y) {
    __shared__ __align__(128) int from[64], to[64];
    __shared__ u64 bar;
    from[threadIdx.x] = x[threadIdx.x];
    if (threadIdx.x == 0) {
        init(&bar, 1);
        publish();
    }
    fence_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        expect(&bar, sizeof(from));
        asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];"
                     :: "r"(at(to)), "r"(at(from)), "r"(at(&bar)) : "memory");
    }
    wait(&bar, 0);
    y[threadIdx.x] = to[63 - threadIdx.x];
}
