// Sixteen by sixteen tiles with a guarded edge; ptxas merges the loads of a row.
extern "C" __global__ void gemm(const float* A, const float* B, float* C, int n) {
    __shared__ float a[16][16], b[16][16];
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < n; t += 16) {
        a[threadIdx.y][threadIdx.x] = row < n && t + threadIdx.x < n ? A[row * n + t + threadIdx.x] : 0;
        b[threadIdx.y][threadIdx.x] = t + threadIdx.y < n && col < n ? B[(t + threadIdx.y) * n + col] : 0;
        __syncthreads();
        for (int k = 0; k < 16; ++k)
            sum += a[threadIdx.y][k] * b[k][threadIdx.x];
        __syncthreads();
    }
    if (row < n && col < n)
        C[row * n + col] = sum;
}
