// Half of each warp waits at a barrier that the other half never reaches.
extern "C" __global__ void half_way(int* out) {
    __shared__ int s[64];
    s[threadIdx.x] = threadIdx.x;
    if (threadIdx.x % 32 < 16) {
        __syncthreads();
        out[threadIdx.x] = s[threadIdx.x ^ 32];
    } else {
        out[threadIdx.x] = 0;
    }
}
