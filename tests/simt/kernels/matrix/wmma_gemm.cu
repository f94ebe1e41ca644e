// C = A B in half with float sums: one warp for each 16×16 tile of C, tiles of A staged in padded shared memory.
#include <mma.h>
using namespace nvcuda;

extern "C" __global__ void gemm(const half* a, const half* b, float* c, int n) {
    __shared__ __align__(32) half tile[16][24];
    int row = blockIdx.y * 16, column = blockIdx.x * 16;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int k = 0; k < n; k += 16) {
        for (int i = threadIdx.x; i < 256; i += 32)
            tile[i / 16][i % 16] = a[(row + i / 16) * n + k + i % 16];
        __syncwarp();
        wmma::load_matrix_sync(fa, &tile[0][0], 24);
        wmma::load_matrix_sync(fb, b + k * n + column, n);
        wmma::mma_sync(sum, fa, fb, sum);
        __syncwarp();
    }
    wmma::store_matrix_sync(c + row * n + column, sum, n, wmma::mem_row_major);
}
