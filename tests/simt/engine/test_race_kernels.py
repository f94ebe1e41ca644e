"""Racecheck on kernels: right ways to communicate are never flagged, their broken twins are."""

import numpy as np
import pytest

from simt.events import Argument, Direction
from simt.launch import Dim3, LaunchConfig
from simt.program import Program

LAST_BLOCK = """
__device__ unsigned int count = 0;
extern "C" __global__ void kernel(const float* in, float* partial, float* out, int n) {
  __shared__ float s[64];
  __shared__ bool last;
  int t = threadIdx.x;
  float v = 0.0f;
  for (int i = blockIdx.x * 64 + t; i < n; i += 64 * gridDim.x) v += in[i];
  s[t] = v;
  __syncthreads();
  for (int d = 32; d > 0; d >>= 1) { if (t < d) s[t] += s[t + d]; __syncthreads(); }
  if (t == 0) {
    partial[blockIdx.x] = s[0];
    FENCE
    last = atomicInc(&count, gridDim.x) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  float sum = 0.0f;
  for (int i = t; i < gridDim.x; i += 64) sum += partial[i];
  atomicAdd(out, sum);
}"""
LOCK = """
extern "C" __global__ void kernel(const float* in, float* lock, float* out, int n) {
  if (threadIdx.x != 0) return;
  while (atomicCAS((int*)lock, 0, 1) != 0) { }
  FENCE
  out[0] = out[0] + in[blockIdx.x];
  FENCE
  atomicExch((int*)lock, 0);
}"""
REDUCE = """
extern "C" __global__ void kernel(const float* in, float* unused, float* out, int n) {
  __shared__ float s[64];
  int t = threadIdx.x;
  s[t] = in[blockIdx.x * 64 + t];
  __syncthreads();
  for (int d = 32; d > 0; d >>= 1) { if (t < d) s[t] += s[t + d]; FENCE }
  if (t == 0) atomicAdd(out, s[0]);
}"""
WARP = """
extern "C" __global__ void kernel(const float* in, float* unused, float* out, int n) {
  __shared__ float s[64];
  int t = threadIdx.x, w = t / 32 * 32, l = t % 32;
  s[t] = in[blockIdx.x * 64 + t];
  FENCE
  for (int d = 16; d > 0; d >>= 1) {
    float v = l < d ? s[w + l + d] : 0.0f;
    FENCE
    s[t] += v;
    FENCE
  }
  if (l == 0) atomicAdd(out, s[w]);
}"""
DOUBLE_BUFFER = """
extern "C" __global__ void kernel(const float* in, float* unused, float* out, int n) {
  __shared__ float s[2][64];
  int t = threadIdx.x;
  float sum = 0.0f;
  s[0][t] = in[t];
  for (int k = 0; k < 8; ++k) {
    FENCE
    if (k < 7) s[(k + 1) % 2][t] = in[(k + 1) * 64 % n + t];
    sum += s[k % 2][63 - t];
  }
  atomicAdd(out, sum);
}"""
KERNELS = {
    "last block": (LAST_BLOCK, "__threadfence();", "", "racecheck.global.RW"),
    "lock": (LOCK, "__threadfence();", "", "racecheck.global.RMW"),
    "reduction": (REDUCE, "__syncthreads();", "", "racecheck.shared.intra-warp"),
    "warp exchange": (WARP, "__syncwarp();", "", "racecheck.shared.intra-warp"),
    "double buffer": (DOUBLE_BUFFER, "__syncthreads();", "", "racecheck.shared.RAW"),
}


def findings(source, order):
    values = np.arange(512, dtype=np.float32) % 7
    program = Program.from_cuda(source.replace("FENCE", order))
    arguments = [
        Argument("in", Direction.IN, values),
        Argument("partial", Direction.INOUT, np.zeros(8, np.float32)),
        Argument("out", Direction.INOUT, np.zeros(1, np.float32)),
        Argument("n", Direction.SCALAR, np.int32(512)),
    ]
    result = program.launch(LaunchConfig(Dim3(8), Dim3(64)), arguments, checks=frozenset({"memcheck", "racecheck"}))
    return {d.check for d in result.diagnostics}


@pytest.mark.parametrize("name", KERNELS)
def test_right_communication_is_silent(name):
    source, order, _, _ = KERNELS[name]
    assert findings(source, order) == set()


@pytest.mark.parametrize("name", KERNELS)
def test_its_broken_twin_is_named(name):
    source, _, broken, check = KERNELS[name]
    assert check in findings(source, broken)


NAMED_BARRIER = """
extern "C" __global__ void kernel(const float* in, float* unused, float* out, int n) {
  __shared__ float s[64];
  int t = threadIdx.x;
  s[t] = in[blockIdx.x * 64 + t];
  asm volatile("bar.sync 1, 64;" ::: "memory");
  atomicAdd(out, s[63 - t]);
}"""


def test_a_barrier_with_a_number_orders_its_threads():
    assert findings(NAMED_BARRIER, "") == set()


FLAG = """
extern "C" __global__ void kernel(const float* in, float* partial, float* out, int n) {
  if (threadIdx.x) return;
  unsigned* flag = (unsigned*)(partial + 7);
  unsigned f;
  if (blockIdx.x == 0) { partial[0] = in[3]; asm volatile("FENCE [%0], 1;" :: "l"(flag) : "memory"); }
  else if (blockIdx.x == 1) {
    do { asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(f) : "l"(flag) : "memory"); } while (f == 0);
    out[0] = partial[0];
  }
}"""


@pytest.mark.parametrize(
    ("store", "expected"),
    [
        ("st.release.gpu.global.u32", set()),
        ("red.release.gpu.global.add.u32", set()),
        ("fence.acq_rel.gpu; st.relaxed.gpu.global.u32", set()),
        ("st.relaxed.gpu.global.u32", {"racecheck.global.RW"}),
    ],
)
def test_a_flag_orders_blocks_when_it_is_released(store, expected):
    assert findings(FLAG, store) == expected
