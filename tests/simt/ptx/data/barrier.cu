#include <cuda/barrier>
#include <cuda/pipeline>
#include <cooperative_groups.h>
namespace cg=cooperative_groups;
extern "C" __global__ void k(const float* a,float* o,int n){ 
 __shared__ cuda::barrier<cuda::thread_scope_block> bar; __shared__ float s[256];
 if(threadIdx.x==0) init(&bar,blockDim.x); __syncthreads();
 cuda::memcpy_async(cg::this_thread_block(), s, a, cuda::aligned_size_t<16>(1024), bar); bar.arrive_and_wait();
 o[threadIdx.x]=s[255-threadIdx.x]; auto g=cg::tiled_partition<8>(cg::this_thread_block()); o[threadIdx.x]+=g.shfl_down(s[threadIdx.x],1); if(n>3) cg::this_grid().sync(); }
