extern "C" __global__ void stencil(const float* plane, float* out, int width, int height) {
    __shared__ float tile[10][34];
    int col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    int x = threadIdx.x + 1, y = threadIdx.y + 1;
    if (row < height && col < width) {
        tile[y][x] = plane[row * width + col];
        if (x == 1 && col > 0) tile[y][0] = plane[row * width + col - 1];
        if (x == 32 && col + 1 < width) tile[y][33] = plane[row * width + col + 1];
        if (y == 1 && row > 0) tile[0][x] = plane[(row - 1) * width + col];
        if (y == 8 && row + 1 < height) tile[9][x] = plane[(row + 1) * width + col];
    }
    __syncthreads();
    if (row < height && col < width) {
        float around = tile[y - 1][x] + tile[y + 1][x] + tile[y][x - 1] + tile[y][x + 1];
        out[row * width + col] = 0.5f * tile[y][x] + 0.125f * around;
    }
}
