"""mbarriers and bulk copies on kernels: phases, bytes, waiting, and what is said when nobody will come."""

import numpy as np
import pytest

from simt.events import Argument, Direction
from simt.launch import Dim3, LaunchConfig
from simt.program import Program

HEAD = """
typedef unsigned long long u64;
__device__ unsigned sa(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void init(u64* b, unsigned n) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(sa(b)), "r"(n) : "memory");
}
__device__ u64 arrive(u64* b) {
  u64 s; asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(s) : "r"(sa(b)) : "memory"); return s;
}
__device__ void drop(u64* b) {
  asm volatile("{ .reg .b64 s; mbarrier.arrive_drop.shared.b64 s, [%0]; }" :: "r"(sa(b)) : "memory");
}
__device__ void expect(u64* b, unsigned n) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(sa(b)), "r"(n) : "memory");
}
__device__ void wait(u64* b, unsigned parity) {
  asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @p bra D; bra W; D: }"
      :: "r"(sa(b)), "r"(parity) : "memory");
}
__device__ void wait_state(u64* b, u64 state) {
  unsigned ok = 0;
  while (!ok) asm volatile("{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
      : "=r"(ok) : "r"(sa(b)), "l"(state) : "memory");
}
__device__ void load(void* d, const void* s, unsigned n, u64* b) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
      :: "r"(sa(d)), "l"(s), "r"(n), "r"(sa(b)) : "memory");
}
__device__ void store(void* d, const void* s, unsigned n) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" :: "l"(d), "r"(sa(s)), "r"(n) : "memory");
}
__device__ void fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ void commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
__device__ void drain() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }
__device__ void cp4(void* s, const void* g) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(sa(s)), "l"(g) : "memory");
}
__device__ void arrive_copies(u64* b) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" :: "r"(sa(b)) : "memory");
}
extern "C" __global__ void kernel(const float* x, float* y) {
  __shared__ __align__(128) float s[512];
  __shared__ u64 bar, other;
  int t = threadIdx.x;
"""


def run(body, checks=("memcheck", "racecheck", "synccheck", "initcheck", "coverage")):
    x = np.arange(512, dtype=np.float32)
    arguments = [Argument("x", Direction.IN, x), Argument("y", Direction.OUT, np.full(64, -1, np.float32))]
    program = Program.from_cuda(HEAD + body + "\n}", arch="sm_90")
    result = program.launch(LaunchConfig(Dim3(2), Dim3(64)), arguments, checks=frozenset(checks))
    return result, result.outputs["y"].tolist()


def found(body):
    result, _ = run(body)
    return [d for d in result.diagnostics if d.check != "coverage.unread-input"]


RIGHT = {
    "all threads arrive": "if (t == 0) init(&bar, 64); __syncthreads(); s[t] = x[t]; arrive(&bar); wait(&bar, 0); "
    "y[t] = s[63 - t];",
    "the state of an arrival": "if (t == 0) init(&bar, 64); __syncthreads(); s[t] = x[t]; u64 a = arrive(&bar); "
    "wait_state(&bar, a); y[t] = s[63 - t];",
    "phases follow each other": "if (t == 0) init(&bar, 64); __syncthreads(); for (int k = 0; k < 5; ++k) { s[t] = x[t + k]; "
    "arrive(&bar); wait(&bar, k % 2); float v = s[63 - t]; __syncthreads(); if (k == 4) y[t] = v - 4; }",
    "one who drops is not expected again": "if (t == 0) init(&bar, 64); __syncthreads(); s[t] = x[t]; if (t < 32) drop(&bar); "
    "else arrive(&bar); wait(&bar, 0); __syncthreads(); if (t >= 32) arrive(&bar); wait(&bar, 1); y[t] = s[63 - t];",
    "a bulk load": "if (t == 0) { init(&bar, 1); } __syncthreads(); if (t == 0) { expect(&bar, 256); load(s, x, 256, &bar); } "
    "wait(&bar, 0); y[t] = s[63 - t];",
    "two loads of one phase": "if (t == 0) { init(&bar, 1); } __syncthreads(); if (t == 0) { expect(&bar, 256); "
    "load(s, x, 128, &bar); load(s + 32, x + 32, 128, &bar); } wait(&bar, 0); y[t] = s[63 - t];",
    "a bulk store": "s[t] = 63 - t; fence(); __syncthreads(); if (t == 0) { store(y, s, 256); commit(); drain(); }",
    "arrivals behind copies": "if (t == 0) init(&bar, 64); __syncthreads(); cp4(s + t, x + t); arrive_copies(&bar); "
    "wait(&bar, 0); y[t] = s[63 - t];",
    "a producer warp": "if (t == 0) { init(&bar, 1); init(&other, 32); } __syncthreads(); if (t < 32) { "
    "for (int k = 0; k < 4; ++k) { wait(&other, (k + 1) % 2); if (t == 0) { expect(&bar, 256); load(s, x + 64 * k, 256, &bar); } "
    "__syncwarp(); } } else { for (int k = 0; k < 4; ++k) { wait(&bar, k % 2); float a = s[63 - t], b = s[95 - t]; "
    "arrive(&other); if (k == 0) { y[t] = a; y[t - 32] = b; } } }",
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_use_is_clean(name):
    assert found(RIGHT[name]) == []
    _, y = run(RIGHT[name])
    assert y == [63 - t for t in range(64)]


WRONG = {
    "too many bytes announced": ("if (t == 0) { init(&bar, 1); expect(&bar, 512); load(s, x, 256, &bar); } __syncthreads(); "
                                 "wait(&bar, 0); y[t] = s[t];", "deadlock.mbarrier-tx", ("512", "256", "expect_tx")),
    "too few arrivals": ("if (t == 0) init(&bar, 64); __syncthreads(); if (t % 2) arrive(&bar);\nwait(&bar, 0); y[t] = 1;",
                         "deadlock.mbarrier-arrivals", ("64", "32")),
    "wrong parity": ("if (t == 0) init(&bar, 64); __syncthreads(); arrive(&bar); wait(&bar, 0);\nwait(&bar, 1); y[t] = 1;",
                     "deadlock.mbarrier-arrivals", ("phase 1",)),
    "not initialised": ("arrive(&bar); y[t] = t;", "asynccheck.misuse", ("not initialised",)),
    "too many arrivals": ("if (t == 0) init(&bar, 3); __syncthreads(); if (t < 2) { asm volatile(\"mbarrier.arrive.noComplete."
                          "shared.b64 _, [%0], 2;\" :: \"r\"(sa(&bar)) : \"memory\"); } y[t] = t;",
                          "asynccheck.misuse", ("more often",)),
    "not waited": ("if (t == 0) { init(&bar, 1); expect(&bar, 256); load(s, x, 256, &bar); } __syncthreads();\ny[t] = s[t];",
                   "asynccheck.read-before-wait", ("mbarrier",)),
    "not drained": ("s[t] = t; fence(); __syncthreads(); if (t == 0) { store(y, s, 256); commit(); }", "asynccheck.misuse",
                    ("waited",)),
    "misaligned": ("if (t == 0) { init(&bar, 1); expect(&bar, 256); load(s, x + 1, 256, &bar); } __syncthreads(); wait(&bar, 0);"
                   " y[t] = 1;", "memcheck.misaligned", ("16",)),
    "an odd size": ("if (t == 0) { init(&bar, 1); expect(&bar, 252); load(s, x, 252, &bar); } __syncthreads(); wait(&bar, 0);"
                    " y[t] = 1;", "memcheck.misaligned", ("16",)),
    "past the source": ("if (t == 0) { init(&bar, 1); expect(&bar, 256); load(s, x + 480, 256, &bar); } __syncthreads(); "
                        "wait(&bar, 0); y[t] = 1;", "memcheck.global.read-oob", ("x",)),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_use_is_named(name):
    body, check, words = WRONG[name]
    rows = found(body)
    assert rows and rows[0].check == check, rows
    assert all(word in rows[0].message + rows[0].help for word in words), rows[0]


def test_bulk_bytes_are_counted_apart():
    counters = run(RIGHT["two loads of one phase"])[0].counters
    assert (counters.bulk_bytes, counters.global_load_requests, counters.shared_store_requests) == (512, 0, 0)
