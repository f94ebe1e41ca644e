extern "C" __global__ void gemm_tiled(const float* A, const float* B, float* C, int m, int n, int k) {
    __shared__ float As[16][16], Bs[16][16];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
    float sum = 0.0f;
    float a = (row < m && tx < k) ? A[row * k + tx] : 0.0f;
    float b = (ty < k && col < n) ? B[ty * n + col] : 0.0f;
    for (int k0 = 0; k0 < k; k0 += 16) {
        As[ty][tx] = a;
        Bs[ty][tx] = b;
        __syncthreads();
        int next = k0 + 16;
        a = (row < m && next + tx < k) ? A[row * k + next + tx] : 0.0f;
        b = (next + ty < k && col < n) ? B[(next + ty) * n + col] : 0.0f;
        for (int i = 0; i < 16; ++i) sum += As[ty][i] * Bs[i][tx];
        __syncthreads();
    }
    if (row < m && col < n) C[row * n + col] = sum;
}
