extern "C" __global__ void k(int* o, double* d, int n)
{
    unsigned m = __ballot_sync(~0u, threadIdx.x < n);
    int v = o[threadIdx.x], p;
    v += __shfl_xor_sync(m, v, 16) + __shfl_up_sync(m, v, 1, 8);
    v += __match_all_sync(m, v, &p) + p + __reduce_max_sync(m, v) + __popc(__activemask());
    if (__syncthreads_or(v > 3))
        v += __syncthreads_count(v > 9) + __all_sync(m, v);
    atomicAdd(o, v);
    d[threadIdx.x] = atomicAdd(d, 1.5) + exp(d[v & 31]) + fmod(d[1], 0.1);
    long long t = clock64();
    o[1] = __funnelshift_l(v, p, 3) + __byte_perm(v, p, 0x1234) + __dp4a(v, p, 1) + (int)t;
}
