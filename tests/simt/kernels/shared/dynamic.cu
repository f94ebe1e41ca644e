// Two arrays in one dynamic block: doubles first, then bytes; a stride of two doubles conflicts.
extern "C" __global__ void dynamic(double* out, int n) {
    extern __shared__ double pool[];
    unsigned char* flags = (unsigned char*)(pool + n);
    int i = threadIdx.x;
    pool[(2 * i) % n + (2 * i) / n] = i + 0.5;
    flags[i] = (unsigned char)(i * 7);
    __syncthreads();
    out[i] = pool[n - 1 - i] + flags[(i + 1) % n];
}
