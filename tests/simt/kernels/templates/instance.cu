// A template kernel is launched by a name expression.
template <int WIDTH, typename T> __global__ void window(const T* in, T* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    T best = in[i];
#pragma unroll
    for (int k = 1; k < WIDTH; ++k)
        best = max(best, in[min(i + k, n - 1)]);
    out[i] = best;
}
