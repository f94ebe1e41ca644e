// A switch with a fall-through, a nested loop with continue, and lanes that return early.
extern "C" __global__ void choose(const int* in, int* out) {
    int i = threadIdx.x, v = in[i], r = 0;
    if (v < 0) {
        out[i] = -1;
        return;
    }
    switch (v % 7) {
        case 0: r = 100; break;
        case 1: r += 3;
        case 2: r += 5; break;
        case 3:
            for (int k = 0; k < v; ++k) {
                if (k % 3 == 1) continue;
                r += k * in[k];
            }
            break;
        case 5: r = in[(i + 1) & 31]; break;
        default: r = -v;
    }
    out[i] = r;
}
