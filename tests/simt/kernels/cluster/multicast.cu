// One block loads a row and a tile, and both arrive in every block of the cluster.
#include <cuda.h>
#include "cluster.cuh"
__global__ __cluster_dims__(2) void multicast(const __grid_constant__ CUtensorMap map, const float* x, float* y) {
    __shared__ __align__(128) float tile[8 * 16];
    __shared__ __align__(128) float row[64];
    __shared__ u64 bar;
    if (threadIdx.x == 0) {
        init(&bar, 1);
        publish();
        expect(&bar, sizeof(tile) + sizeof(row));
    }
    meet();
    if (rank() == 0 && threadIdx.x == 0) {
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
                     "[%1, {%2, %3}], [%4], %5;"
                     :: "r"(at(tile)), "l"(&map), "r"(16 * (int)(blockIdx.x / 2)), "r"(0), "r"(at(&bar)), "h"((short)3) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;"
                     :: "r"(at(row)), "l"(x), "r"((int)sizeof(row)), "r"(at(&bar)), "h"((short)3) : "memory");
    }
    wait(&bar, 0);
    for (int i = threadIdx.x; i < 128; i += 64) y[blockIdx.x * 128 + i] = (rank() + 1) * tile[i] + row[i % 64];
    meet();
}
