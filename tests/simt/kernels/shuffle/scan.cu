// Scan, butterfly, rotation and a broadcast inside segments of eight lanes.
extern "C" __global__ void scan(const float* in, float* sums, int* mixed) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
    float v = in[i];
    for (int d = 1; d < 32; d *= 2) {
        float u = __shfl_up_sync(0xffffffffu, v, d);
        if (lane >= d)
            v += u;
    }
    sums[i] = v;
    int m = i * i;
    for (int d = 16; d; d /= 2)
        m = max(m ^ 5, __shfl_xor_sync(0xffffffffu, m, d));
    m += __shfl_sync(0xffffffffu, i, 3, 8) + __shfl_sync(0xffffffffu, m, (lane + 9) & 31);
    m -= __shfl_down_sync(0xffffffffu, i, 2, 16);
    mixed[i] = m;
}
