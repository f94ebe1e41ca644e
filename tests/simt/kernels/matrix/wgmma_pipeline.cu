#include "wgmma.cuh"
struct __align__(64) Map { char bytes[128]; };  // CUtensorMap
// C (64 x 32) = A B: one thread of a producer warpgroup fetches tiles of 64 k with TMA, swizzled over 128 bytes, through two
// stages; a consumer warpgroup multiplies them, with one product in flight while it waits for the next stage.
typedef unsigned long long barrier_t;

__device__ unsigned place(const void* p) { return __cvta_generic_to_shared(p); }
__device__ void wait(barrier_t* barrier, int phase) {
    asm volatile("{\n .reg .pred p;\nagain:\n mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n @!p bra again;\n}"
                 :: "r"(place(barrier)), "r"(phase) : "memory");
}
__device__ void arrive(barrier_t* barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(place(barrier)) : "memory");
}
__device__ void fetch(void* tile, const Map* map, int x, int y, barrier_t* barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                 :: "r"(place(tile)), "l"(map), "r"(x), "r"(y), "r"(place(barrier)) : "memory");
}
extern "C" __global__ void __launch_bounds__(256, 1)
product(const __grid_constant__ Map map_a, const __grid_constant__ Map map_b, float* c, int k) {
    __shared__ __align__(1024) char ta[2][64 * 128], tb[2][32 * 128];
    __shared__ barrier_t full[2], empty[2];
    int n_tiles = k / 64;
    if (threadIdx.x == 0) {
        for (int s = 0; s < 2; ++s) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(place(&full[s])) : "memory");
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 128;" :: "r"(place(&empty[s])) : "memory");
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    if (threadIdx.x < 128) {
        if (threadIdx.x == 0)
            for (int tile = 0; tile < n_tiles; ++tile) {
                int s = tile % 2, round = tile / 2;
                if (round > 0) wait(&empty[s], (round - 1) % 2);
                asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                             :: "r"(place(&full[s])), "r"(96 * 128) : "memory");
                fetch(ta[s], &map_a, tile * 64, 0, &full[s]);
                fetch(tb[s], &map_b, tile * 64, 0, &full[s]);
            }
    } else {
        float d[16] = {};
        for (int tile = 0; tile < n_tiles; ++tile) {
            int s = tile % 2;
            wait(&full[s], tile / 2 % 2);
            begin();
            for (int q = 0; q < 4; ++q)
                multiply<0, 0>(d, matrix(ta[s] + q * 32, 0, 1024, 1), matrix(tb[s] + q * 32, 0, 1024, 1));
            commit();
            if (tile > 0) {
                wait<1>();
                arrive(&empty[(tile - 1) % 2]);
            }
        }
        wait<0>();
        store(d, c, 32);
    }
}
