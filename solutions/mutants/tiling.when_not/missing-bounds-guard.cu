extern "C" __global__ void weigh_columns(const float* plane, const float* weight, float* out, int width, int height) {
    int col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    out[row * width + col] = plane[row * width + col] * weight[col];
}
