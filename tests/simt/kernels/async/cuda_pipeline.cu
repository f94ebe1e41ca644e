// cuda::pipeline of two stages over memcpy_async.
#include <cooperative_groups.h>
#include <cuda/pipeline>
namespace cg = cooperative_groups;
__global__ void cuda_pipeline(const float* x, float* y) {
    constexpr int stages = 2, batches = 4;
    __shared__ float tile[stages][64];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    for (int batch = 0, next = 0; batch < batches; ++batch) {
        for (; next < batches && next < batch + stages; ++next) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, tile[next % stages], x + 64 * next, sizeof(float) * 64, pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        y[64 * batch + threadIdx.x] = tile[batch % stages][63 - threadIdx.x];
        block.sync();
        pipe.consumer_release();
    }
}
