extern "C" __global__ void map2d(const float* photo, float* frame, int width, int height, int pitch) {
    int x = blockIdx.y * 8 + threadIdx.y;
    int y = blockIdx.x * 32 + threadIdx.x;
    if (x >= width || y >= height) return;
    float* line = frame + y * pitch;
    line[x] = 1.0f - photo[y * width + x];
}
