// One row of 32 numbers for each reduction.
#include "tile.cuh"
#define REDUCE(row, kind)                                                                                            \
    asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta." kind ".tile.bulk_group [%0, {%1, %2}], [%3];" \
                 :: "l"(&map), "r"(0), "r"(row), "r"(at(tile)) : "memory")
__global__ void reduce_kinds(const __grid_constant__ CUtensorMap map, const unsigned* x) {
    __shared__ __align__(128) unsigned tile[32];
    tile[threadIdx.x] = x[threadIdx.x];
    fence_async();
    __syncwarp();
    if (threadIdx.x == 0) {
        REDUCE(0, "add");
        REDUCE(1, "min");
        REDUCE(2, "max");
        REDUCE(3, "and");
        REDUCE(4, "or");
        REDUCE(5, "xor");
        REDUCE(6, "inc");
        REDUCE(7, "dec");
        commit();
        drain();
    }
}
