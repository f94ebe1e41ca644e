__device__ float at(const float* plane, int row, int col, int width, int height) {
    return row >= 0 && row < height && col >= 0 && col < width ? plane[row * width + col] : 0.0f;
}

extern "C" __global__ void stencil(const float* plane, float* out, int width, int height) {
    __shared__ float tile[10][34];
    int col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    int x = threadIdx.x + 1, y = threadIdx.y + 1;
    tile[y][x] = at(plane, row, col, width, height);
    if (x == 1) tile[y][0] = at(plane, row, col - 1, width, height);
    if (x == 32) tile[y][33] = at(plane, row, col + 1, width, height);
    if (y == 1) tile[0][x] = at(plane, row - 1, col, width, height);
    if (y == 8) tile[9][x] = at(plane, row + 1, col, width, height);
    float result = 0.0f;
    if (row < height && col < width) {
        __syncthreads();
        float around = tile[y - 1][x] + tile[y + 1][x] + tile[y][x - 1] + tile[y][x + 1];
        result = 0.5f * tile[y][x] + 0.125f * around;
    }
    __syncthreads();
    if (row < height && col < width) out[row * width + col] = result;
}
