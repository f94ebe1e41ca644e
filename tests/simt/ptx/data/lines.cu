#include <cuda_fp16.h>
__device__ __forceinline__ float square(float x)
{
    return x * x;
}
template <int N>
__device__ __forceinline__ float power(float x)
{
    float y = 1.0f;
    for (int i = 0; i < N; i++)
        y *= square(x);
    return y;
}
extern "C" __global__ void k(float* o, const __half* h, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    o[i] = power<2>(o[i]);
    o[i + n] = __half2float(__hadd(h[i], h[i + 1]));
    o[i + 2 * n] = square(
        o[i]);
}
