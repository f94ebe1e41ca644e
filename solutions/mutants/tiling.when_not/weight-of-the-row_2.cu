extern "C" __global__ void weigh_columns(const float* plane, const float* weight, float* out, int width, int height) {
    int col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    if (row >= height || col >= width) return;
    int i = row * width + col;
    float w = weight[i / width];
    out[i] = w * plane[i];
}
