extern "C" __global__ void map2d(const float* photo, float* frame, int width, int height, int pitch) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < height) {
        const float* from = photo + row * width;
        frame[row * pitch + col] = 1.0f - from[col];
    }
}
