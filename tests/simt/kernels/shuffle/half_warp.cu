// Each half of a warp shuffles under its own mask, inside a branch.
extern "C" __global__ void halves(const int* in, int* out) {
    int lane = threadIdx.x, v = in[lane];
    if (lane < 16)
        v += __shfl_down_sync(0x0000ffffu, v, 4, 16);
    else
        v -= __shfl_xor_sync(0xffff0000u, v, 3);
    __syncwarp();
    out[lane] = v;
}
