// A tree walked by recursion: lanes part, go to different depths and meet again; each activation has an array of its own.
__device__ __noinline__ int walk(const int* left, const int* right, int node, int depth) {
    if (node < 0) return 0;
    int sums[2];
    for (int side = 0; side < 2; side++)
        sums[(side + depth) & 1] = walk(left, right, side ? right[node] : left[node], depth + 1);
    return sums[0] + sums[1] + depth;
}

extern "C" __global__ void depths(const int* left, const int* right, int* total, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        total[i] = walk(left, right, i, 1);
}
