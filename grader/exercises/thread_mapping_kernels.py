"""Kernels that lesson 01 brings along: the three whose launch is asked for, and what gridstride is timed against."""

from __future__ import annotations

__all__ = ["EVERY_BLOCK_ALL", "FLAT", "ROWS", "TILES"]

FLAT = r"""
extern "C" __global__ void flat(const float* photo, float* out, int width, int height) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < width * height) out[i] = 2.0f * photo[i];
}
"""
TILES = r"""
extern "C" __global__ void tiles(const float* photo, float* out, int width, int height) {
    int col = blockIdx.x * 32 + threadIdx.x;  // written for blocks of 32 × 8 threads
    int row = blockIdx.y * 8 + threadIdx.y;
    if (col < width && row < height) out[row * width + col] = 2.0f * photo[row * width + col];
}
"""
ROWS = r"""
extern "C" __global__ void rows(const float* photo, float* out, int width, int height) {
    int row = blockIdx.x;  // one block a row
    for (int col = threadIdx.x; col < width; col += blockDim.x) {
        out[row * width + col] = 2.0f * photo[row * width + col];
    }
}
"""

# Right, but each block goes over all elements.
EVERY_BLOCK_ALL = r"""
extern "C" __global__ void gridstride(const float* x, float* y, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = 0.5f * x[i];
}
"""
