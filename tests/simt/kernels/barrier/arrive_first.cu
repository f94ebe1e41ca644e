// The first warp arrives at two barriers and goes on; the second waits at them in the other order.
extern "C" __global__ void ahead(const int* in, int* out) {
    __shared__ int s[32];
    int lane = threadIdx.x % 32;
    if (threadIdx.x < 32) {
        s[lane] = in[lane] + 1;
        asm volatile("bar.arrive 1, 64;" ::: "memory");
        asm volatile("bar.arrive 2, 64;" ::: "memory");
        out[lane] = lane;
    } else {
        asm volatile("bar.sync 2, 64;" ::: "memory");
        out[32 + lane] = s[31 - lane];
        asm volatile("bar.sync 1, 64;" ::: "memory");
    }
}
