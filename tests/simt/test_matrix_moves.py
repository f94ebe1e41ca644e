"""ldmatrix, stmatrix and movmatrix against NumPy: which lane serves which row, and what a missing lane or a pitch costs."""

import numpy as np
import pytest

from simt.events import Argument, Direction, Status
from simt.launch import Dim3, LaunchConfig
from simt.program import Program

LOAD = """extern "C" __global__ void load(const unsigned short* in, unsigned* out, int pitch) {
  extern __shared__ __align__(16) unsigned short s[];
  for (int i = threadIdx.x; i < 32 * 8; i += 32) s[i / 8 * pitch + i % 8] = in[i];
  __syncwarp();
  unsigned from = (unsigned)__cvta_generic_to_shared(s + threadIdx.x * pitch), r[4] = {};
  CONDITION asm volatile("ldmatrix.sync.aligned.m8n8.x4TRANS.shared.b16 {%0, %1, %2, %3}, [%4];"
      : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(from) : "memory");
  for (int m = 0; m < 4; m++) out[m * 32 + threadIdx.x] = r[m];
}"""
FEW = """extern "C" __global__ void few(const unsigned short* in, unsigned short* out) {
  __shared__ __align__(16) unsigned short s[16][8], t[16][8];
  for (int i = threadIdx.x; i < 128; i += 32) s[i / 8][i % 8] = in[i];
  __syncwarp();
  unsigned from = (unsigned)__cvta_generic_to_shared(&s[threadIdx.x % 16][0]), a, b;
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "r"(from) : "memory");
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;" : "+r"(a));
  unsigned to = (unsigned)__cvta_generic_to_shared(&t[threadIdx.x % 8][0]);
  asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" :: "r"(to), "r"(a) : "memory");
  asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" :: "r"(to + 128), "r"(b) : "memory");
  __syncwarp();
  for (int i = threadIdx.x; i < 128; i += 32) out[i] = t[i / 8][i % 8];
}"""
MATRICES = np.arange(256, dtype=np.uint16).reshape(4, 8, 8)


def load(pitch, trans=False, condition="", block=32):
    source = LOAD.replace("TRANS", ".trans" if trans else "").replace("CONDITION", condition)
    out = np.zeros(128, np.uint32)
    arguments = [
        Argument("in", Direction.IN, MATRICES.reshape(-1)), Argument("out", Direction.OUT, out),
        Argument("pitch", Direction.SCALAR, np.int32(pitch)),
    ]  # fmt: skip
    config = LaunchConfig(Dim3(1), Dim3(block), shared_bytes=64 * pitch)
    return Program.from_cuda(source, arch="sm_80").launch(config, arguments)


def by_lane(result):
    """(4, 32, 2) the halves that each lane got of each matrix."""
    return result.outputs["out"].view(np.uint16).reshape(4, 32, 2)


def test_lane_holds_two_neighbours_of_a_row():
    result = load(8)
    assert result.status is Status.OK, result.diagnostics
    assert (by_lane(result) == MATRICES.reshape(4, 32, 2)).all()


def test_transposed_lane_holds_two_neighbours_of_a_column():
    turned = MATRICES.transpose(0, 2, 1).reshape(4, 32, 2)
    assert (by_lane(load(8, trans=True)) == turned).all()


# 8 rows of a matrix in one wavefront where their 16-byte pieces lie in different banks: 8, 24, 40… halves of pitch.
@pytest.mark.parametrize("pitch, ways", [(8, 1), (16, 2), (24, 1), (32, 4), (64, 8), (72, 1)])
def test_each_matrix_takes_as_many_wavefronts_as_rows_meet_in_a_bank(pitch, ways):
    result = load(pitch)
    line = next(row for row in result.by_line.values() if row.ldmatrix_requests)
    assert (line.ldmatrix_requests, line.shared_load_bytes) == (1, 512)
    assert (line.shared_load_wavefronts, line.shared_load_excess) == (4 * ways, 4 * (ways - 1))


def test_row_off_sixteen_bytes_is_named():
    (finding,) = [d for d in load(12).diagnostics if d.check == "memcheck.misaligned"]
    assert finding.line == 6 and "row 1 of matrix 0" in finding.message and "ldmatrix" in finding.message


@pytest.mark.parametrize("condition, block", [("if (threadIdx.x < 16)", 32), ("", 16)])
def test_missing_lanes_are_a_finding(condition, block):
    (finding,) = [d for d in load(8, condition=condition, block=block).diagnostics if d.check == "synccheck.mask"]
    assert finding.line == 6 and "lanes 16 to 31" in finding.message


def test_all_lanes_by_two_ways_are_no_finding():
    assert load(8, condition="if (threadIdx.x < 99)").status is Status.OK


def test_row_that_nothing_wrote_is_uninitialised():
    source = LOAD.replace("TRANS", "").replace("CONDITION", "").replace("32 * 8; i", "31 * 8; i")
    arguments = [
        Argument("in", Direction.IN, MATRICES.reshape(-1)), Argument("out", Direction.OUT, np.zeros(128, np.uint32)),
        Argument("pitch", Direction.SCALAR, np.int32(8)),
    ]  # fmt: skip
    result = Program.from_cuda(source).launch(LaunchConfig(Dim3(1), Dim3(32), shared_bytes=512), arguments)
    assert [(d.line, d.lanes) for d in result.diagnostics if d.check == "initcheck.shared"] == [(6, (31,))]


def test_one_and_two_matrices_there_and_back():
    arguments = [
        Argument("in", Direction.IN, MATRICES.reshape(-1)[:128].copy()),
        Argument("out", Direction.OUT, np.zeros(128, np.uint16)),
    ]
    result = Program.from_cuda(FEW, arch="sm_90").launch(LaunchConfig(Dim3(1), Dim3(32)), arguments)
    assert result.status is Status.OK, result.diagnostics
    assert (result.outputs["out"].reshape(2, 8, 8) == MATRICES[:2]).all()


def test_missing_lanes_of_a_move_are_a_finding():
    source = """extern "C" __global__ void move(unsigned* out) {
      unsigned a = threadIdx.x;
      if (threadIdx.x < 8) asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;" : "+r"(a));
      out[threadIdx.x] = a;
    }"""
    result = Program.from_cuda(source).launch(
        LaunchConfig(Dim3(1), Dim3(32)), [Argument("out", Direction.OUT, np.zeros(32, np.uint32))]
    )
    assert [(d.check, d.line) for d in result.diagnostics] == [("synccheck.mask", 3)]
