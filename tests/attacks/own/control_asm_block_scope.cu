extern "C" __global__ void solve(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; 
    if (i < n) { float r; asm("{\n\t.reg .f32 t;\n\tmul.f32 t, %1, %1;\n\tadd.f32 %0, t, %2;\n\t}" : "=f"(r) : "f"(x[i]), "f"(1.0f)); y[i] = r; }
}
