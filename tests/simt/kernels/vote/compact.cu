// Ballot, population count, match, any, all and the active mask.
extern "C" __global__ void compact(const int* in, int* out, int* count, unsigned* masks) {
    int i = threadIdx.x, lane = i & 31, v = in[i];
    unsigned keep = __ballot_sync(0xffffffffu, v % 3 == 0);
    int place = __popc(keep & ((1u << lane) - 1));
    if (v % 3 == 0)
        out[(i & ~31) + place] = v;
    if (lane == 0)
        count[i / 32] = __popc(keep) + 100 * __any_sync(0xffffffffu & 1u, v > 50);
    unsigned same = __match_any_sync(0xffffffffu, v % 5);
    if (__all_sync(0xffffffffu, v < 1000))
        same ^= __brev(v) | __clz(v) | (unsigned)__ffs(v);
    masks[i] = v & 1 ? __activemask() : same;
}
