extern "C" __global__ void solve(const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; char* s = (char*)"abcd"; s[n & 1] = 1; if (i < n) y[i] = x[i] * x[i] + 1.0f;  }
