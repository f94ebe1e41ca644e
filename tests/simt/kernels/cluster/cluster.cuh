// The few instructions of clusters and mbarriers that these kernels need, each under its own name.
typedef unsigned long long u64;
__device__ unsigned at(const void* place) { return (unsigned)__cvta_generic_to_shared(place); }
__device__ unsigned rank() { unsigned r; asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); return r; }
__device__ unsigned blocks() { unsigned n; asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(n)); return n; }
__device__ unsigned there(const void* place, unsigned r) {
    unsigned address;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(at(place)), "r"(r));
    return address;
}
__device__ void arrive_cluster() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
__device__ void wait_cluster() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
__device__ void meet() { arrive_cluster(); wait_cluster(); }
__device__ void init(u64* bar, int count) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(at(bar)), "r"(count) : "memory"); }
__device__ void publish() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
__device__ void expect(u64* bar, int n_bytes) {
    asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" :: "r"(at(bar)), "r"(n_bytes) : "memory");
}
__device__ void arrive_there(u64* bar, unsigned r) {
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" :: "r"(there(bar, r)) : "memory");
}
__device__ void wait(u64* bar, int parity) {
    asm volatile("{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again;\n}" :: "r"(at(bar)), "r"(parity) : "memory");
}
