// A copy and a reduction inside the block's shared memory; their bytes are counted at an mbarrier.
#include "tile.cuh"
__global__ void bulk_inside(const int* x, int* y) {
    __shared__ __align__(128) int from[64], to[64], sums[64];
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
        expect(&bar, 512);
        asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];"
                     :: "r"(at(to)), "r"(at(from)), "r"(at(&bar)) : "memory");
        asm volatile("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.s32 [%0], [%1], 256, [%2];"
                     :: "r"(at(sums)), "r"(at(from)), "r"(at(&bar)) : "memory");
    }
    wait(&bar, 0);
    y[threadIdx.x] = to[63 - threadIdx.x];
    y[64 + threadIdx.x] = sums[63 - threadIdx.x];
}
