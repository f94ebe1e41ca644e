// Every width from 1 to 16 bytes, aligned and with a stride: 1, 2, 4, 8 and 16 sectors a request.
extern "C" __global__ void widths(const unsigned char* c, const short* s, const float2* p, const float4* q, float4* out) {
    int i = threadIdx.x;
    float4 v = q[i];
    float2 w = p[i ^ 1];
    v.x += c[i] + s[2 * i + 1];
    v.y += w.x;
    v.z -= w.y;
    v.w = (float)(signed char)c[63 - i];
    out[i] = v;
}
