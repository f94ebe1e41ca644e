extern "C" __global__ void stencil(const float* plane, float* out, int width, int height) {
    __shared__ float tile[10 * 34];
    int first_col = blockIdx.x * 32 - 1, first_row = blockIdx.y * 8 - 1;
    int thread = threadIdx.y * 32 + threadIdx.x;
    for (int i = thread; i < 10 * 34; i += 256) {
        int r = first_row + i / 34, c = first_col + i % 34;
        if (r < 0 || r >= height || c < 0 || c >= width) continue;
        tile[i] = plane[r * width + c];
    }
    __syncthreads();
    int col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    if (row >= height || col >= width) return;
    const float* here = &tile[(threadIdx.y + 1) * 34 + threadIdx.x + 1];
    out[row * width + col] = 0.5f * here[0] + 0.125f * (here[-34] + here[34] + here[-1] + here[1]);
}
