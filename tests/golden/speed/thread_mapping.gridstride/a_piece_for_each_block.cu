extern "C" __global__ void gridstride(const float* x, float* y, int n) {
    int piece = (n + gridDim.x - 1) / gridDim.x, first = blockIdx.x * piece;
    int end = min(n, first + piece);
    for (int i = first + threadIdx.x; i < end; i += blockDim.x) y[i] = 0.5f * x[i];
}
