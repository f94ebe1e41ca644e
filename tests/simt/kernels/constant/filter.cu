// Weights set by the host, a table with an initialiser, and a device variable.
__constant__ float weights[5];
__constant__ unsigned char table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
__device__ int offset = 2;
extern "C" __global__ void filter(const float* in, float* out, int n) {
    int i = threadIdx.x;
    float sum = 0;
    for (int k = -2; k <= 2; ++k)
        if (i + k >= 0 && i + k < n)
            sum += weights[k + 2] * in[i + k];
    out[i] = sum + table[(i + offset) & 7];
}
