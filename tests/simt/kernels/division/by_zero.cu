// Quotient and remainder of whole numbers where some divisors are zero: lanes 0, 8, 16… of each warp.
extern "C" __global__ void by_zero(const int* in, int* quotient, unsigned* remainder) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int divisor = in[i] % 8;
    quotient[i] = 1000 / divisor;
    remainder[i] = 1000u % (unsigned)divisor;
}
