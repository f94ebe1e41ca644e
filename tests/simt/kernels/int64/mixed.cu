// 64-bit arithmetic: high products, division, shifts, carries and byte permutation.
extern "C" __global__ void mixed(const long long* in, unsigned long long* out, int shift) {
    int i = threadIdx.x;
    long long a = in[i], b = in[63 - i] | 1;
    unsigned long long r = __umul64hi(a, b) + (unsigned long long)__mul64hi(a, b);
    r ^= (unsigned long long)(a / b) + (unsigned long long)(a % b);
    r += ((unsigned long long)a >> (shift + i)) ^ (a >> (i & 63)) ^ ((unsigned long long)b << shift);
    r += __popcll(a) + __clzll(b) + __ffsll(a) + __byte_perm((unsigned)a, (unsigned)b, 0x5140);
    unsigned __int128 wide = (unsigned __int128)(unsigned long long)a * (unsigned long long)b + r;
    out[i] = r + (unsigned long long)(wide >> 70) + (short)a * (int)b + (a < b ? 1 : 2);
}
