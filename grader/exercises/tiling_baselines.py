"""Kernels that the answers of lesson 04 are timed against, each under the name that its exercise asks for."""

from __future__ import annotations

__all__ = ["NAIVE_GEMM", "PLAIN_STENCIL", "TILED_COLUMNS"]

NAIVE_GEMM = r"""
extern "C" __global__ void gemm_tiled(const float* A, const float* B, float* C, int m, int n, int k) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < m && col < n) {
        float sum = 0.0f;
        for (int i = 0; i < k; ++i) sum += A[row * k + i] * B[i * n + col];
        C[row * n + col] = sum;
    }
}
"""

PLAIN_STENCIL = r"""
__device__ float at(const float* plane, int row, int col, int width, int height) {
    return row >= 0 && row < height && col >= 0 && col < width ? plane[row * width + col] : 0.0f;
}

extern "C" __global__ void stencil(const float* plane, float* out, int width, int height) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < height && col < width) {
        float around = at(plane, row - 1, col, width, height) + at(plane, row + 1, col, width, height) +
                       at(plane, row, col - 1, width, height) + at(plane, row, col + 1, width, height);
        out[row * width + col] = 0.5f * plane[row * width + col] + 0.125f * around;
    }
}
"""

TILED_COLUMNS = r"""
extern "C" __global__ void weigh_columns(const float* plane, const float* weight, float* out, int width, int height) {
    __shared__ float tile[8][32];
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    bool inside = row < height && col < width;
    tile[threadIdx.y][threadIdx.x] = inside ? plane[row * width + col] : 0.0f;
    __syncthreads();
    if (inside) out[row * width + col] = tile[threadIdx.y][threadIdx.x] * weight[col];
}
"""
