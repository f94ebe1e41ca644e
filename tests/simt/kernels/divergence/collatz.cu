// Every lane loops its own number of times, with a branch inside and two ways out.
extern "C" __global__ void collatz(const unsigned* start, int* steps, int limit) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = 0;
    unsigned v = start[i];
    while (v != 1) {
        if (v & 1)
            v = 3 * v + 1;
        else
            v /= 2;
        if (++n == limit)
            break;
    }
    steps[i] = v == 1 ? n : -1;
}
