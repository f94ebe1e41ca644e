extern "C" __global__ void map2d(const float* photo, float* frame, int width, int height, int pitch) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int col = blockIdx.y * blockDim.y + threadIdx.y;
    if (col < width && row < height) frame[row * pitch + col] = 1.0f - photo[row * width + col];
}
