// Two warps produce, two consume, each pair through a barrier of its own; the first only arrives.
extern "C" __global__ void pipeline(const float* in, float* out) {
    __shared__ float s[64];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, pair = warp / 2;
    if (warp % 2 == 0) {
        s[pair * 32 + lane] = in[pair * 32 + lane] * 3;
        asm volatile("bar.arrive %0, 64;" ::"r"(pair + 1) : "memory");
    } else {
        asm volatile("bar.sync %0, 64;" ::"r"(pair + 1) : "memory");
        out[pair * 32 + lane] = s[pair * 32 + 31 - lane] + 1;
    }
}
