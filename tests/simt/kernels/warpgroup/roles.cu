// A producer and a consumer warpgroup give registers to one another and meet at named barriers; an elected lane of each warp
// counts, and lanes look for their likes.
__device__ bool elected() {
    unsigned is;
    asm volatile("{\n .reg .pred p;\n elect.sync _|p, 0xFFFFFFFF;\n selp.u32 %0, 1, 0, p;\n}" : "=r"(is));
    return is;
}
extern "C" __global__ void __launch_bounds__(256, 1) roles(const int* x, int* y, unsigned* counts) {
    __shared__ int tile[2][128];
    __shared__ unsigned elections;
    int t = threadIdx.x % 128;
    if (threadIdx.x == 0) elections = 0;
    __syncthreads();
    if (elected()) atomicAdd(&elections, 1u);
    if (threadIdx.x < 128) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        for (int s = 0; s < 4; ++s) {
            if (s > 1) asm volatile("bar.sync %0, 256;" :: "r"(3 + s % 2) : "memory");
            tile[s % 2][t] = x[s * 128 + t];
            asm volatile("bar.arrive %0, 256;" :: "r"(1 + s % 2) : "memory");
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        for (int s = 0; s < 4; ++s) {
            asm volatile("bar.sync %0, 256;" :: "r"(1 + s % 2) : "memory");
            int value = tile[s % 2][127 - t];
            if (s < 2) asm volatile("bar.arrive %0, 256;" :: "r"(3 + s % 2) : "memory");
            int all, least;
            unsigned like;
            asm volatile("redux.sync.add.s32 %0, %1, 0xFFFFFFFF;" : "=r"(all) : "r"(value));
            asm volatile("redux.sync.min.s32 %0, %1, 0xFFFFFFFF;" : "=r"(least) : "r"(value));
            asm volatile("match.any.sync.b32 %0, %1, 0xFFFFFFFF;" : "=r"(like) : "r"(value % 4));
            y[s * 128 + t] = value + 10 * least + 100 * all + 100000 * __popc(like & __activemask());
        }
    }
    __nanosleep(20);
    __syncthreads();
    if (threadIdx.x == 0) *counts = elections;
}
