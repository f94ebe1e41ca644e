extern "C" __global__ void gemm_tiled(const float* A, const float* B, float* C, int m, int n, int k) {
    __shared__ float As[16][16], Bs[16][16];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
    float sum = 0.0f;
    for (int k0 = 0; k0 < k; k0 += 16) {
        As[tx][ty] = (row < m && k0 + tx < k) ? A[row * k + k0 + tx] : 0.0f;
        Bs[ty][tx] = (k0 + ty < k && col < n) ? B[(k0 + ty) * n + col] : 0.0f;
        __syncthreads();
        for (int i = 0; i < 16; ++i) sum += As[i][ty] * Bs[i][tx];
        __syncthreads();
    }
    if (row < m && col < n) C[row * n + col] = sum;
}
