// 64 x 64 x 64 in float: tiles of both operands by TMA, two stages, the next tiles on their way while these are used.
#include "tile.cuh"
constexpr int N = 64, T = 32;
__global__ void gemm(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, float* c) {
    __shared__ __align__(128) float as[2][T * T], bs[2][T * T];
    __shared__ u64 bar[2];
    int row = threadIdx.x / 16, column = threadIdx.x % 16;
    if (threadIdx.x == 0) {
        init(&bar[0], 1);
        init(&bar[1], 1);
        publish();
        expect(&bar[0], 2 * sizeof(as[0]));
        load(as[0], &a, 0, T * blockIdx.y, &bar[0]);
        load(bs[0], &b, T * blockIdx.x, 0, &bar[0]);
    }
    __syncthreads();
    float sums[2][2] = {};
    for (int k = 0; k < N / T; ++k) {
        int s = k % 2;
        if (threadIdx.x == 0 && k + 1 < N / T) {
            expect(&bar[1 - s], 2 * sizeof(as[0]));
            load(as[1 - s], &a, T * (k + 1), T * blockIdx.y, &bar[1 - s]);
            load(bs[1 - s], &b, T * blockIdx.x, T * (k + 1), &bar[1 - s]);
        }
        wait(&bar[s], k / 2 % 2);
        for (int i = 0; i < T; ++i)
            for (int r = 0; r < 2; ++r)
                for (int q = 0; q < 2; ++q) sums[r][q] += as[s][(row + 16 * r) * T + i] * bs[s][i * T + column + 16 * q];
        __syncthreads();
    }
    for (int r = 0; r < 2; ++r)
        for (int q = 0; q < 2; ++q) c[(T * blockIdx.y + row + 16 * r) * N + T * blockIdx.x + column + 16 * q] = sums[r][q];
}
