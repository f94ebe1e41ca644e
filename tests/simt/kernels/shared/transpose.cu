// Columns of an unpadded tile meet in one bank, those of a padded tile in none.
extern "C" __global__ void transpose(const float* in, float* plain, float* padded, int n) {
    __shared__ float a[32][32], b[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 4)
        a[threadIdx.y + j][threadIdx.x] = b[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 4) {
        plain[(y + j) * n + x] = a[threadIdx.x][threadIdx.y + j];
        padded[(y + j) * n + x] = b[threadIdx.x][threadIdx.y + j];
    }
}
