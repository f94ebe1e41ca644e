extern "C" __global__ void gemm_tiled(const float* A, const float* B, float* C, int m, int n, int k) {
    __shared__ float a_tile[256];
    __shared__ float b_tile[256];
    int thread = threadIdx.y * 16 + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    int tiles = (k + 15) / 16;
    float sum = 0.0f;
    for (int t = 0; t < tiles; ++t) {
        int left = t * 16 + threadIdx.x, top = t * 16 + threadIdx.y;
        bool a_inside = row < m && left < k, b_inside = top < k && col < n;
        a_tile[thread] = a_inside ? A[row * k + left] : 0.0f;
        b_tile[thread] = b_inside ? B[top * n + col] : 0.0f;
        __syncthreads();
        const float* a_row = a_tile + threadIdx.y * 16;
        for (int step = 0; step < 16; ++step) sum = fmaf(a_row[step], b_tile[step * 16 + threadIdx.x], sum);
    }
    if (row >= m || col >= n) return;
    C[row * n + col] = sum;
}
