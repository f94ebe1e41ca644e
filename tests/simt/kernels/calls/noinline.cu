// Functions that stay functions: a struct returned by value, a pointer to a local, and a call inside a branch.
struct Pair { float a; int b; };
__device__ __noinline__ Pair make(float x, int n) { return {x * n, n ^ 3}; }
__device__ __noinline__ void swap(int* x, int* y) { int t = *x; *x = *y; *y = t; }
__device__ __noinline__ float heavy(float x, int n) { for (int i = 0; i < n; ++i) x = x * 0.5f + i; return x; }
extern "C" __global__ void calls(float* out, Pair add) {
    int i = threadIdx.x, j = 3 * i;
    Pair p = make(i + 0.5f, i);
    swap(&i, &j);
    if (threadIdx.x & 1)
        p.a += heavy(p.a, j & 7);
    out[threadIdx.x] = p.a + p.b + i + add.a * add.b;
}
