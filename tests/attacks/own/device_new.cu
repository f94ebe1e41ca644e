extern "C" __global__ void solve(const float* x, float* y, int n) { float* p = new float[n]; p[0] = x[0]; y[0] = p[0]; delete[] p; }
