#include <cuda_pipeline.h>
extern "C" __global__ void k(const float4* a,float4* o,int n){ __shared__ float4 s[2][128];
 int t=threadIdx.x; __pipeline_memcpy_async(&s[0][t],a+t,16); __pipeline_commit();
 for(int i=1;i<n;i++){ __pipeline_memcpy_async(&s[i&1][t],a+i*128+t,16); __pipeline_commit(); __pipeline_wait_prior(1); __syncthreads(); o[i*128+t]=s[(i-1)&1][127-t]; __syncthreads(); } }
