// One lane of the second warp fails its assertion.
#include <cassert>
extern "C" __global__ void check(const int* in, int* out) {
    int v = in[threadIdx.x];
    assert(v != 40);
    out[threadIdx.x] = v;
}
