// The same divisors, each division guarded; 64 bits too, and floating-point division by zero, which is defined.
extern "C" __global__ void guarded(const int* in, int* quotient, long long* wide, float* ratio) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int divisor = in[i] % 8;
    quotient[i] = divisor ? 1000 / divisor : 0;
    wide[i] = divisor ? 10000000000LL / divisor : 0;
    ratio[i] = 1.0f / divisor;
}
