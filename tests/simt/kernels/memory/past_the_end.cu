// No guard: the last lanes of the last block read and write past the end.
extern "C" __global__ void twice(const float* x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = 2 * x[i];
}
