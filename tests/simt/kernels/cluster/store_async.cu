// st.async: numbers and their count of bytes reach the mbarrier of the neighbour together; red.async adds to its counter.
#include "cluster.cuh"
__global__ __cluster_dims__(2) void store_async(const int* x, int* y) {
    __shared__ __align__(16) int inbox[64];
    __shared__ int total;
    __shared__ u64 bar;
    unsigned other = rank() ^ 1;
    int t = threadIdx.x, value = x[blockIdx.x * 64 + t];
    if (t == 0) {
        total = 0;
        init(&bar, 1);
        publish();
        expect(&bar, 64 * 8);
    }
    meet();
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.s32 [%0], %1, [%2];"
                 :: "r"(there(&inbox[t], other)), "r"(value), "r"(there(&bar, other)) : "memory");
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.s32 [%0], %1, [%2];"
                 :: "r"(there(&total, other)), "r"(value), "r"(there(&bar, other)) : "memory");
    wait(&bar, 0);
    y[blockIdx.x * 64 + t] = inbox[t] + total;
    meet();
}
