// What the wgmma kernels of this folder share: descriptors, the steps around a product, and where D's elements lie.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

typedef unsigned long long matrix_t;

// Offsets in bytes; swizzle 0 none, 1 128 bytes, 2 64, 3 32.
__device__ matrix_t matrix(const void* tile, int leading, int stride, int swizzle, int base = 0) {
    unsigned start = __cvta_generic_to_shared(tile);
    return (matrix_t)(start >> 4) | (matrix_t)(leading >> 4) << 16 | (matrix_t)(stride >> 4) << 32 | (matrix_t)base << 49 |
           (matrix_t)swizzle << 62;
}
__device__ void fence_operands() { asm volatile("fence.proxy.async;" ::: "memory"); }
__device__ void begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int Left> __device__ void wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(Left) : "memory"); }

// Byte of 16-byte chunk c in row r of a tile whose swizzled rows are `width` bytes.
__device__ int chunk(int r, int c, int width) {
    int at = r * width + c * 16;
    return at ^ (at >> 7 & (width / 16 - 1)) << 4;
}

template <int TransposedA, int TransposedB>
__device__ void multiply(float (&d)[16], matrix_t a, matrix_t b) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, "
        "%15}, %16, %17, 1, 1, 1, %18, %19;"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]),
          "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
        : "l"(a), "l"(b), "n"(TransposedA), "n"(TransposedB));
}

// Stores a warpgroup's 64 x 2 N elements, row by row.
template <typename T, int N> __device__ void store(const T (&d)[N], T* c, int columns) {
    int t = threadIdx.x % 128, row = 16 * (t / 32) + t % 32 / 4;
    for (int i = 0; i < N; ++i) c[(row + 8 * (i / 2 % 2)) * columns + 8 * (i / 4) + 2 * (t % 4) + i % 2] = d[i];
}
