extern "C" __global__ void gemm_tiled(const float* A, const float* B, float* C, int m, int n, int k) {
    __shared__ float As[16][32], Bs[32][16];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
    float sum = 0.0f;
    for (int k0 = 0; k0 < k; k0 += 32) {
        for (int half = 0; half < 32; half += 16) {
            int i = k0 + half;
            As[ty][half + tx] = (row < m && i + tx < k) ? A[row * k + i + tx] : 0.0f;
            Bs[half + ty][tx] = (i + ty < k && col < n) ? B[(i + ty) * n + col] : 0.0f;
        }
        __syncthreads();
        for (int i = 0; i < 32; ++i) sum += As[ty][i] * Bs[i][tx];
        __syncthreads();
    }
    if (row < m && col < n) C[row * n + col] = sum;
}
