extern "C" __global__ void weigh_columns(const float* plane, const float* weight, float* out, int width, int height) {
    __shared__ float tile[32][8];
    int x = blockIdx.y * blockDim.y + threadIdx.y, y = blockIdx.x * blockDim.x + threadIdx.x;
    bool inside = x < width && y < height;
    tile[threadIdx.x][threadIdx.y] = inside ? plane[y * width + x] : 0.0f;
    __syncthreads();
    if (inside) out[y * width + x] = tile[threadIdx.x][threadIdx.y] * weight[x];
}
