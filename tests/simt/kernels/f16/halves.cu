// Scalar and packed half precision, conversions, comparisons, and bfloat16.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
extern "C" __global__ void halves(const float* in, unsigned short* h, unsigned* packed, float* back, unsigned short* b) {
    int i = threadIdx.x;
    __half x = __float2half(in[i]), y = __float2half(in[63 - i]);
    __half z = __hfma(x, y, x);
    h[i] = __half_as_ushort(__hgt(z, y) ? z : __hsub(y, __hmul(x, x)));
    __half2 p = __halves2half2(x, y);
    p = __hfma2(p, p, __hmax2(p, __float2half2_rn(0.25f)));
    packed[i] = *(unsigned*)&p;
    back[i] = __half2float(__hadd(x, y)) + __low2float(p);
    __nv_bfloat16 c = __float2bfloat16(in[i]), d = __float2bfloat16(1.5f);
    b[i] = __bfloat16_as_ushort(__hfma(c, d, c));
}
