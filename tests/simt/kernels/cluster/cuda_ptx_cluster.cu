// The same instructions by NVIDIA's own names: cuda::ptx for the barrier of the cluster, remote arrivals and a multicast.
#include <cuda/ptx>
namespace ptx = cuda::ptx;
__global__ __cluster_dims__(2) void cuda_ptx_cluster(const float* x, float* y) {
    __shared__ alignas(128) float row[64];
    __shared__ float sums[2];
    __shared__ unsigned long long full, told;
    unsigned rank = ptx::get_sreg_cluster_ctarank();
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&full, 1);
        ptx::mbarrier_init(&told, 2);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full, sizeof(row));
    }
    ptx::barrier_cluster_arrive();
    ptx::barrier_cluster_wait();
    if (rank == 1 && threadIdx.x == 0)
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, row, x, sizeof(row), &full, (unsigned short)3);
    while (!ptx::mbarrier_try_wait_parity(&full, 0)) {}
    float sum = row[threadIdx.x] * (rank + 1);
    for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
    if (threadIdx.x % 32 == 0) {
        unsigned other = rank ^ 1, slot = threadIdx.x / 32;
        *(float*)__cluster_map_shared_rank(&sums[slot], other) = sum;
        auto bar = (unsigned long long*)__cluster_map_shared_rank(&told, other);
        ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cluster, ptx::space_cluster, bar);
    }
    while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &told, 0)) {}
    if (threadIdx.x == 0) y[blockIdx.x] = sums[0] + sums[1];
    ptx::barrier_cluster_arrive();
    ptx::barrier_cluster_wait();
}
