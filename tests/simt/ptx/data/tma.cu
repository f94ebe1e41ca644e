extern "C" __global__ void k(const void* map, float* o)
{
    __shared__ alignas(128) float tile[32][32];
    __shared__ unsigned long long bar;
    unsigned s = __cvta_generic_to_shared(tile), b = __cvta_generic_to_shared(&bar);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(b), "r"(1));
        asm volatile("fence.proxy.async.shared::cta;");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(b), "r"(4096) : "memory");
        asm volatile(
            "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
            ::"r"(s), "l"(map), "r"(0), "r"(32), "r"(b) : "memory");
    }
    __syncthreads();
    asm volatile(
        "{\n.reg .pred P1;\nLAB_WAIT:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;\n@P1 bra DONE;\nbra LAB_WAIT;\nDONE:\n}"
        ::"r"(b), "r"(0) : "memory");
    o[threadIdx.x] = tile[threadIdx.x / 32][threadIdx.x % 32];
}
