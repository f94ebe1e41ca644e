extern "C" __global__ void map2d(const float* photo, float* frame, int width, int height, int pitch) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (col >= width || row >= height) return;
    int i = col;
    for (int above = 0; above < row; ++above) i += width;
    frame[i] = 1.0f - photo[i];
}
