extern "C" __global__ void gemm_published(const float* A, const float* B, float* C, int m, int n, int k) {
    __shared__ float As[16][16], Bs[16][16];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
    float sum = 0.0f;
    for (int k0 = 0; k0 < k; k0 += 16) {
        if (row < m && k0 + tx < k) As[ty][tx] = A[row * k + k0 + tx];
        if (k0 + ty < k && col < n) Bs[ty][tx] = B[(k0 + ty) * n + col];
        __syncthreads();
        for (int i = 0; i < 16; ++i) sum += As[ty][i] * Bs[i][tx];
        __syncthreads();
    }
    if (row < m && col < n) C[row * n + col] = sum;
}
