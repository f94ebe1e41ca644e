// The barrier between write and read is missing: a race between the two warps.
extern "C" __global__ void reverse(const int* in, int* out) {
    __shared__ int s[64];
    s[threadIdx.x] = in[threadIdx.x];
    out[threadIdx.x] = s[63 - threadIdx.x];
}
