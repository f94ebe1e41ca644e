// Text of several threads and blocks comes out in order.
extern "C" __global__ void say(int* out) {
    int i = threadIdx.x;
    if (i % 16 == 3)
        printf("block %d thread %2d: %x %c %5.2f %s %lld%%\n", blockIdx.x, i, i * 255, 'a' + i, i / 3.0, "text", 1LL << 40);
    out[blockIdx.x * blockDim.x + i] = i;
}
