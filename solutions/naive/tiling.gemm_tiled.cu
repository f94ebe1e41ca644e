// Right, but each element of A and B is loaded from global memory once for every product it stands in.
extern "C" __global__ void gemm_tiled(const float* A, const float* B, float* C, int m, int n, int k) {
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    if (row < m && col < n) {
        float sum = 0.0f;
        for (int i = 0; i < k; ++i) sum += A[row * k + i] * B[i * n + col];
        C[row * n + col] = sum;
    }
}
