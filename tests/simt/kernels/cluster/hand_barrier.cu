// A barrier of the grid written by hand: a counter that every block raises, and a loop that waits for it.
__global__ void hand_barrier(const float* x, float* half, float* y, unsigned* arrived) {
    int i = blockIdx.x * 64 + threadIdx.x, last = gridDim.x * 64 - 1;
    half[i] = 0.5f * x[i];
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(arrived, 1);
        while (*(volatile unsigned*)arrived < gridDim.x) {}
    }
    __syncthreads();
    y[i] = half[last - i];
}
