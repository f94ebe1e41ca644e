// A tree in shared memory, and the reducing barriers.
extern "C" __global__ void reduce(const int* in, int* out) {
    __shared__ int s[96];
    int t = threadIdx.x, v = in[blockIdx.x * 96 + t];
    s[t] = v;
    int positive = __syncthreads_count(v > 0);
    int all = __syncthreads_and(v > -50), any = __syncthreads_or(v == 7);
    for (int d = 48; d >= 3; d /= 2) {
        if (t < d)
            s[t] += s[t + d];
        __syncthreads();
    }
    if (t == 0) {
        out[4 * blockIdx.x] = s[0] + s[1] + s[2];
        out[4 * blockIdx.x + 1] = positive;
        out[4 * blockIdx.x + 2] = all;
        out[4 * blockIdx.x + 3] = any;
    }
}
