"""What is said of bulk copies, mbarriers and proxies used wrongly, with line and lanes; each beside a kernel that is right."""

import numpy as np
import pytest

from simt.events import Argument, Direction
from simt.launch import Dim3, LaunchConfig
from simt.program import Program

HEAD = """typedef unsigned long long u64;
__device__ __forceinline__ unsigned sa(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void init(u64* b, unsigned n) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(sa(b)), "r"(n) : "memory");
}
__device__ __forceinline__ void inval(u64* b) { asm volatile("mbarrier.inval.shared.b64 [%0];" :: "r"(sa(b)) : "memory"); }
__device__ __forceinline__ void arrive(u64* b) {
  asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(sa(b)) : "memory");
}
__device__ __forceinline__ void expect(u64* b, unsigned n) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(sa(b)), "r"(n) : "memory");
}
__device__ __forceinline__ void wait(u64* b, unsigned parity) {
  unsigned ok = 0;
  while (!ok) asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
      : "=r"(ok) : "r"(sa(b)), "r"(parity) : "memory");
}
__device__ __forceinline__ void load(void* d, const void* s, unsigned n, u64* b) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
      :: "r"(sa(d)), "l"(s), "r"(n), "r"(sa(b)) : "memory");
}
__device__ __forceinline__ void store(void* d, const void* s, unsigned n) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" :: "l"(d), "r"(sa(s)), "r"(n) : "memory");
}
__device__ __forceinline__ void fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ __forceinline__ void commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
__device__ __forceinline__ void copy(void* d, const void* s, unsigned n, u64* b) {
  asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
      :: "r"(sa(d)), "r"(sa(s)), "r"(n), "r"(sa(b)) : "memory");
}
template <int N> __device__ __forceinline__ void drain() {
  asm volatile("cp.async.bulk.wait_group.read %0;" :: "n"(N) : "memory");
}
extern "C" __global__ void kernel(const float* x, float* y, float* z) {
  __shared__ __align__(128) float s[512];
  __shared__ u64 bar;
  int t = threadIdx.x;
"""
FIRST = HEAD.count("\n") + 1  # the line that a kernel's first one has
BEGIN = "if (t == 0) init(&bar, 1);\n__syncthreads();\n"
LOAD = BEGIN + "if (t == 0) { expect(&bar, 512); load(s, x, 512, &bar); }\n"
WRITE = "s[t] = t;\nfence();\n__syncthreads();\n"


def found(body, blocks=1, **more):
    x = np.arange(512, dtype=np.float32)
    arguments = [
        Argument("x", Direction.IN, x), Argument("y", Direction.INOUT, np.zeros(512, np.float32)),
        Argument("z", Direction.OUT, np.zeros(512, np.float32)),
    ]  # fmt: skip
    result = Program.from_cuda(HEAD + body + "\n}", arch="sm_90").launch(
        LaunchConfig(Dim3(blocks), Dim3(128)), arguments, **more
    )
    return [d for d in result.diagnostics if not d.check.startswith(("coverage", "compile", "perf"))]


# name: kernel, check, line of the kernel (1 is the first), lanes or None, words of message and help
WRONG = {
    "only one warp waits": (LOAD + "if (t < 32) wait(&bar, 0);\ny[t] = s[t];", "asynccheck.read-before-wait", 5, range(32),
                            ("other warps waited", "__syncthreads")),
    "the other parity": (LOAD + "wait(&bar, 1);\ny[t] = s[t];", "asynccheck.read-before-wait", 5, range(32),
                         ("parity 1", "wait for parity 0")),
    "a store into what is being filled": (LOAD + "s[t] = 1;\nwait(&bar, 0);", "asynccheck.overwritten", 4, range(32),
                                          ("bulk load of line", "mbarrier")),
    "rewritten before it is drained": (WRITE + "if (t == 0) { store(y, s, 512); commit(); }\n__syncthreads();\ns[t] = 1;\n"
                                       "if (t == 0) drain<0>();", "asynccheck.overwritten", 6, range(32),
                                       ("bulk store of line", "no cp.async.bulk.wait_group")),
    "one group too many left": (WRITE + "if (t == 0) { store(y, s, 512); commit(); drain<1>(); }\n__syncthreads();\ns[t] = 1;\n"
                                "if (t == 0) drain<0>();", "asynccheck.overwritten", 6, range(32),
                                ("wait_group 1 lets the 1 newest", "wait_group.read 0")),
    "waited for but not committed": (WRITE + "if (t == 0) { store(y, s, 512); drain<0>(); }\n__syncthreads();\ns[t] = 1;\n"
                                     "if (t == 0) { commit(); drain<0>(); }", "asynccheck.overwritten", 6, range(32),
                                     ("never committed",)),
    "waited for before the commit": (WRITE + "if (t == 0) { store(y, s, 512); drain<0>(); commit(); }\n__syncthreads();\n"
                                     "s[t] = 1;\nif (t == 0) drain<0>();", "asynccheck.overwritten", 6, range(32),
                                     ("waited before it committed",)),
    "filled again before it is drained": (BEGIN + WRITE + "if (t == 0) { store(y, s, 512); commit(); expect(&bar, 512);\n"
                                          "load(s, x, 512, &bar);\ndrain<0>(); }\nwait(&bar, 0);\nz[t] = s[t];",
                                          "asynccheck.overwritten", 7, [0], ("bulk store of line",)),
    "no proxy fence": ("s[t] = t;\n__syncthreads();\nif (t == 0) { store(y, s, 512);\ncommit(); drain<0>(); }",
                       "asynccheck.proxy-fence", 3, [0], ("fence.proxy.async",)),
    "a proxy fence before the write": ("fence();\ns[t] = t;\n__syncthreads();\nif (t == 0) { store(y, s, 512);\n"
                                       "commit(); drain<0>(); }", "asynccheck.proxy-fence", 4, [0], ("fence.proxy.async",)),
    "no proxy fence behind atomics": ("s[t] = 0;\nfence();\n__syncthreads();\natomicAdd(s + t / 2, 1.0f);\n__syncthreads();\n"
                                      "if (t == 0) { store(y, s, 512);\ncommit(); drain<0>(); }", "asynccheck.proxy-fence", 6,
                                      [0], ("fence.proxy.async",)),
    "an atomic on what is being filled": (LOAD + "atomicAdd(s + t, 1.0f);\nwait(&bar, 0);", "asynccheck.overwritten", 4,
                                          range(32), ("bulk load of line",)),
    "a load that nobody waits for": (LOAD + "y[t] = t;", "asynccheck.misuse", 3, [0], ("before the block ended",)),
    "a store without a commit": (WRITE + "if (t == 0) store(y, s, 512);", "asynccheck.misuse", 4, [0], ("not even committed",)),
    "used after its end": (BEGIN + "if (t == 0) inval(&bar);\n__syncthreads();\nif (t == 0) arrive(&bar);\ny[t] = t;",
                           "asynccheck.misuse", 5, [0], ("mbarrier.inval ended it",)),
    "initialised twice": (BEGIN + "if (t == 0) init(&bar, 1);\ny[t] = t;", "asynccheck.misuse", 3, [0], ("in use already",)),
    "for nobody": ("if (t == 0) init(&bar, 0);\ny[t] = t;", "asynccheck.misuse", 1, [0], ("0 arrivals", "1,048,575")),
    "more bytes than a phase counts": (BEGIN + "if (t == 0) expect(&bar, 1 << 20);\ny[t] = t;", "asynccheck.misuse", 3, [0],
                                       ("1048576", "2^20")),
    "stored before all wrote": ("s[t] = t;\nfence();\nif (t == 0) { store(y, s, 512); commit(); drain<0>(); }",
                                "racecheck.shared.RAW", 3, None, ("s",)),
    "filled while others read": (BEGIN + "s[t] = t;\n__syncthreads();\nfloat v = s[t ^ 64];\nif (t == 127) { expect(&bar, 512);\n"
                                 "load(s, x, 512, &bar); }\nwait(&bar, 0);\ny[t] = v + s[t];", "racecheck.shared.WAR", 7, [31],
                                 ("s",)),
    "blocks store over each other": ("s[t] = t + blockIdx.x;\nfence();\n__syncthreads();\nif (t == 0) { store(y, s, 512);\n"
                                     "commit(); drain<0>(); }", "racecheck.global.WW", 4, [0], ("y",)),
    "stores what nobody wrote": ("if (t < 96) s[t] = t;\nfence();\n__syncthreads();\nif (t == 0) { store(y, s, 512);\n"
                                 "commit(); drain<0>(); }", "initcheck.shared", 4, [0], ("uninitialised",)),
    "loads what nobody wrote": (BEGIN + "if (t == 0) { expect(&bar, 512); load(s, z, 512, &bar); }\nwait(&bar, 0);\ny[t] = s[t];",
                                "initcheck.global", 3, [0], ("z",)),
    "inside shared memory without a cluster": (BEGIN + WRITE + "if (t == 0) { expect(&bar, 512);\ncopy(s + 128, s, 512, &bar); }",
                                               "asynccheck.misuse", 7, [0], ("512 bytes from shared memory", "__cluster_dims__")),
    "announced too little": (BEGIN + "if (t == 0) { expect(&bar, 256); load(s, x, 512, &bar); }\nwait(&bar, 0);\ny[t] = s[t];",
                             "deadlock.mbarrier-tx", 4, None, ("256 bytes and 512 came", "256 too many")),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_fault_is_named_at_its_line_with_its_lanes(name):
    body, check, line, lanes, words = WRONG[name]
    rows = [row for row in found(body, 2 if "blocks" in name else 1) if row.check == check]
    assert rows, found(body)
    assert rows[0].line == FIRST + line - 1
    assert lanes is None or list(rows[0].lanes) == list(lanes)
    text = rows[0].message + rows[0].help
    assert all(word in text for word in words), text


RIGHT = {
    "one warp waits, all meet": LOAD + "if (t < 32) wait(&bar, 0);\n__syncthreads();\ny[t] = s[t];",
    "news by another mbarrier": "__shared__ u64 more;\nif (t == 0) { init(&bar, 1); init(&more, 32); }\n__syncthreads();\n"
    "if (t == 0) { expect(&bar, 512); load(s, x, 512, &bar); }\nif (t < 32) { wait(&bar, 0); arrive(&more); }\n"
    "else wait(&more, 0);\ny[t] = s[t];",
    "news by a flag": "volatile __shared__ int flag;\nif (t == 0) { init(&bar, 1); flag = 0; }\n__syncthreads();\n"
    "if (t == 0) { expect(&bar, 512); load(s, x, 512, &bar); }\nif (t < 32) { wait(&bar, 0); __threadfence_block(); flag = 1; }\n"
    "else { while (flag == 0); __threadfence_block(); }\ny[t] = s[t];",
    "drained before it is rewritten": WRITE
    + "if (t == 0) { store(y, s, 512); commit(); drain<0>(); }\n__syncthreads();\ns[t] = 1;",
    "two stages of stores": "for (int k = 0; k < 4; ++k) { float* p = s + 128 * (k % 2);\nif (t == 0) drain<1>();\n"
    "__syncthreads();\np[t] = t + k;\nfence();\n__syncthreads();\nif (t == 0) { store(y + 128 * k, p, 512); commit(); } }\n"
    "if (t == 0) drain<0>();",
    "the storing thread fences behind a barrier": "s[t] = t;\n__syncthreads();\nif (t == 0) { fence(); store(y, s, 512);\n"
    "commit(); drain<0>(); }",
    "a warp's own write and fence": "if (t < 32) { s[t] = t; fence(); __syncwarp(); if (t == 0) { store(y, s, 128); commit();\n"
    "drain<0>(); } }",
    "what a copy filled needs no fence": LOAD + "wait(&bar, 0);\nif (t == 0) { store(y, s, 512); commit(); drain<0>(); }",
    "initialised again after its end": BEGIN + "if (t == 0) { inval(&bar); init(&bar, 128); }\n__syncthreads();\narrive(&bar);\n"
    "wait(&bar, 0);\ny[t] = t;",
    "a phase that was over, then the next": BEGIN + "if (t == 0) { expect(&bar, 512); load(s, x, 512, &bar); }\nwait(&bar, 0);\n"
    "float v = s[t];\n__syncthreads();\nif (t == 0) { expect(&bar, 512); load(s, x + 128, 512, &bar); }\nwait(&bar, 0);\n"
    "__syncthreads();\nwait(&bar, 1);\ny[t] = v + s[t];",
    "atomics, then a fence": "s[t] = 0;\n__syncthreads();\natomicAdd(s + t / 2, 1.0f);\nfence();\n__syncthreads();\n"
    "if (t == 0) { store(y, s, 512); commit(); drain<0>(); }",
    "blocks store the same": "s[t] = t;\nfence();\n__syncthreads();\nif (t == 0) { store(y, s, 512); commit(); drain<0>(); }",
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_right_use_raises_nothing(name):
    assert found(RIGHT[name], 2 if "blocks" in name else 1) == []


def test_a_flag_is_seen_without_racecheck_too():
    assert found(RIGHT["news by a flag"], checks=frozenset({"synccheck"})) == []


def test_a_deadlock_names_every_mbarrier_and_where_it_is_waited_at():
    body = (
        "__shared__ u64 empty;\nif (t == 0) { init(&bar, 1); init(&empty, 96); }\n__syncthreads();\nif (t < 32) {\n"
        "wait(&empty, 0);\nif (t == 0) expect(&bar, 512); }\nelse { wait(&bar, 0);\narrive(&empty); }\ny[t] = t;"
    )
    rows = found(body)
    assert [row.check for row in rows] == ["deadlock.mbarrier-arrivals"] * 2
    assert [row.line for row in rows] == [FIRST + 4, FIRST + 6]
    assert "32 threads wait" in rows[0].message and "`empty`" in rows[0].message and "96 are missing" in rows[0].message
    assert "96 threads wait" in rows[1].message and "`bar`" in rows[1].message and "1 came" not in rows[1].message
