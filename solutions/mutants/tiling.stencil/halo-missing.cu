extern "C" __global__ void stencil(const float* plane, float* out, int width, int height) {
    __shared__ float tile[8][32];
    int x = threadIdx.x, y = threadIdx.y;
    int col = blockIdx.x * 32 + x, row = blockIdx.y * 8 + y;
    tile[y][x] = row < height && col < width ? plane[row * width + col] : 0.0f;
    __syncthreads();
    if (row < height && col < width) {
        float around = 0.0f;
        if (y > 0) around += tile[y - 1][x];
        if (y < 7) around += tile[y + 1][x];
        if (x > 0) around += tile[y][x - 1];
        if (x < 31) around += tile[y][x + 1];
        out[row * width + col] = 0.5f * tile[y][x] + 0.125f * around;
    }
}
