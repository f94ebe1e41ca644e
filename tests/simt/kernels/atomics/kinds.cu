// Every kind of atomic on integers and floats, and a maximum of floats made of compare-and-swap.
__device__ void max_float(float* at, float v) {
    int old = __float_as_int(*(volatile float*)at);
    while (__int_as_float(old) < v) {
        int seen = atomicCAS((int*)at, old, __float_as_int(v));
        if (seen == old)
            break;
        old = seen;
    }
}
extern "C" __global__ void kinds(const int* in, int* i32, unsigned long long* u64, float* f32, double* f64, int* order) {
    int t = threadIdx.x, v = in[t];
    atomicMin(&i32[0], v);
    atomicMax(&i32[1], v);
    atomicAnd(&i32[2], v | 0xf0);
    atomicOr(&i32[3], v);
    atomicXor(&i32[4], v);
    atomicInc((unsigned*)&i32[5], 20u);
    atomicDec((unsigned*)&i32[6], 9u);
    order[t] = atomicAdd(&i32[7], 1);
    atomicExch(&i32[8 + t % 2], v);
    atomicAdd(&u64[0], (unsigned long long)v << 20);
    atomicMax(&u64[1], (unsigned long long)v * v);
    atomicAdd(&f32[0], 0.1f * v);
    max_float(&f32[1], (float)v);
    atomicAdd(&f64[0], 1.0 / (v + 1));
}
