#include <mma.h>
using namespace nvcuda;
// One warp's tile of C = A B for each operand type of wmma and every shape, A and B in both orders, C by rows or columns.
template <typename T, typename Sum, int M, int N, int K, typename A, typename B, typename Memory>
__device__ void tile(const Memory* a, const Memory* b, Sum* c, int lda, int ldb, wmma::layout_t order) {
    wmma::fragment<wmma::matrix_a, M, N, K, T, A> fa;
    wmma::fragment<wmma::matrix_b, M, N, K, T, B> fb;
    wmma::fragment<wmma::accumulator, M, N, K, Sum> sum;
    wmma::fill_fragment(sum, Sum(0));
    wmma::load_matrix_sync(fa, a, lda);
    wmma::load_matrix_sync(fb, b, ldb);
    wmma::mma_sync(sum, fa, fb, sum);
    wmma::store_matrix_sync(c, sum, order == wmma::mem_row_major ? N : M, order);
}
typedef wmma::row_major rows;
typedef wmma::col_major columns;
extern "C" __global__ void halves(const half* a, const half* b, half* c) {
    tile<half, half, 32, 8, 16, rows, columns>(a, b, c, 16, 16, wmma::mem_row_major);
}
extern "C" __global__ void brains(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c) {
    tile<__nv_bfloat16, float, 8, 32, 16, columns, rows>(a, b, c, 8, 32, wmma::mem_row_major);
}
extern "C" __global__ void tensor_floats(const float* a, const float* b, float* c) {
    tile<wmma::precision::tf32, float, 16, 16, 8, rows, rows>(a, b, c, 8, 16, wmma::mem_col_major);
}
extern "C" __global__ void doubles(const double* a, const double* b, double* c) {
    tile<double, double, 8, 8, 4, rows, columns>(a, b, c, 4, 4, wmma::mem_row_major);
}
extern "C" __global__ void bytes(const signed char* a, const signed char* b, int* c) {
    tile<signed char, int, 16, 16, 16, rows, columns>(a, b, c, 16, 16, wmma::mem_row_major);
}
extern "C" __global__ void unsigned_bytes(const unsigned char* a, const unsigned char* b, int* c) {
    tile<unsigned char, int, 32, 8, 16, columns, rows>(a, b, c, 32, 8, wmma::mem_col_major);
}
