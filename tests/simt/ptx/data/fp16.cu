#include <cuda_fp16.h>
#include <cuda_bf16.h>
extern "C" __global__ void k(const __half2* a, const __nv_bfloat16* b, __half2* o, __nv_bfloat16* p, int n){
 int i=blockIdx.x*blockDim.x+threadIdx.x; if(i<n){ o[i]=__hfma2(a[i],a[i+1],o[i]); p[i]=__float2bfloat16(sinf(__bfloat162float(b[i]))) ; if(__hgt(a[i].x,a[i].y)) o[i]=h2exp(a[i]);}
}
