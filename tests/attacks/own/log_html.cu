extern "C" __global__ void solve(const float* x, float* y, int n) { <img src=x onerror=alert(1)> [31m  }
