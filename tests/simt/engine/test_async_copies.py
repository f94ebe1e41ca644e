"""cp.async on kernels: bytes come at the wait, and who touches them before is told which step is missing."""

import numpy as np
import pytest

from simt.events import Argument, Direction
from simt.launch import Dim3, LaunchConfig
from simt.program import Program

HEAD = """
__device__ void cp16(void* s, const void* g) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"((unsigned)__cvta_generic_to_shared(s)), "l"(g) : "memory");
}
__device__ void cp4(void* s, const void* g, int size) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
      :: "r"((unsigned)__cvta_generic_to_shared(s)), "l"(g), "r"(size) : "memory");
}
__device__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> __device__ void wait() { asm volatile("cp.async.wait_group %0;" :: "n"(N) : "memory"); }
__device__ void wait_all() { asm volatile("cp.async.wait_all;" ::: "memory"); }
extern "C" __global__ void kernel(const float* x, float* y) {
  __shared__ __align__(16) float s[512];
  int t = threadIdx.x;
"""


def run(body, size=512, checks=("memcheck", "racecheck", "synccheck", "initcheck"), block=64):
    x = np.arange(size, dtype=np.float32)
    arguments = [Argument("x", Direction.IN, x), Argument("y", Direction.OUT, np.full(64, -1, np.float32))]
    config = LaunchConfig(Dim3(1), Dim3(block))
    result = Program.from_cuda(HEAD + body + "\n}").launch(config, arguments, checks=frozenset(checks))
    return result, result.outputs["y"]


def found(body, **more):
    """(check, text of its line, text of its other line) of every finding."""
    lines = (HEAD + body).split("\n")
    result, _ = run(body, **more)
    return [
        (d.check, lines[d.line - 1].strip(), lines[d.also_line - 1].strip() if d.also_line else "", d.message)
        for d in result.diagnostics
    ]


RIGHT = {
    "wait for everything": "cp16(s + 4 * t, x + 4 * t); commit(); wait<0>(); __syncthreads(); y[t] = s[255 - t];",
    "wait_all commits too": "cp16(s + 4 * t, x + 4 * t); wait_all(); __syncthreads(); y[t] = s[255 - t];",
    "one's own bytes need no barrier": "cp16(s + 4 * t, x + 4 * t); commit(); wait<0>(); y[t] = s[4 * t];",
    "an older group": "cp16(s + 4 * t, x + 4 * t); commit(); cp16(s + 256 + 4 * t, x + 4 * t); commit(); wait<1>(); "
    "y[t] = s[4 * t]; wait<0>();",
    "an empty group counts": "cp16(s + 4 * t, x + 4 * t); commit(); commit(); wait<1>(); y[t] = s[4 * t];",
    "groups of one half": "if (t % 2) { cp16(s + 4 * t, x + 4 * t); commit(); } wait<0>(); if (t % 2) y[t] = s[4 * t];",
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_copy_that_is_waited_for_is_clean(name):
    assert found(RIGHT[name]) == []


def test_bytes_come_at_the_wait_and_not_before():
    body = "s[t] = 7; __syncthreads();\ncp4(s + t, x + t, 4); commit();\nfloat old = s[t];\nwait<0>(); y[t] = old + 1000 * s[t];"
    _, y = run(body, checks=())
    assert y.tolist() == [7 + 1000 * t for t in range(64)]


def test_what_is_not_read_is_zero():
    _, y = run("cp4(s + t, x + t, t % 3 ? 4 : 0); wait_all(); y[t] = s[t];")
    assert y.tolist() == [t if t % 3 else 0 for t in range(64)]


def test_a_part_of_the_source_is_read():
    result, y = run("cp4(s + t, (const char*)(x + t), t % 2 ? 2 : 4); wait_all(); y[t] = s[t];")
    whole = np.arange(64, dtype=np.float32)
    halved = (whole.view(np.uint32) & 0xFFFF).view(np.float32)
    assert y.tolist() == np.where(np.arange(64) % 2, halved, whole).tolist()
    assert not result.diagnostics


def test_lanes_that_read_nothing_may_point_anywhere():
    result, _ = run("cp4(s + t, x + (t < 60 ? t : 1 << 20), t < 60 ? 4 : 0); wait_all(); y[t] = s[t];")
    assert not result.diagnostics


WRONG = {
    "no wait": ("cp16(s + 4 * t, x + 4 * t); commit();\n__syncthreads();\ny[t] = s[255 - t];",
                "asynccheck.read-before-wait", "wait_group"),
    "no commit": ("cp16(s + 4 * t, x + 4 * t); commit;\nwait<0>(); __syncthreads();\ny[t] = s[255 - t];",
                  "asynccheck.uncommitted", "commit_group"),
    "committed too late": ("cp16(s + 4 * t, x + 4 * t); wait<0>(); commit();\n__syncthreads();\ny[t] = s[255 - t];",
                           "asynccheck.read-before-wait", "waited before it committed"),
    "one too many left": ("cp16(s + 4 * t, x + 4 * t); commit();\nwait<1>(); __syncthreads();\ny[t] = s[255 - t];",
                          "asynccheck.read-before-wait", "the last wait_group 1"),
    "stored to": ("cp16(s + 4 * t, x + 4 * t); commit();\ns[4 * t] = 1;\nwait<0>(); y[t] = s[4 * t];",
                  "asynccheck.overwritten", "either may come last"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_missing_step_is_named(name):
    body, check, words = WRONG[name]
    rows = found(body)
    assert [row[0] for row in rows] == [check]
    assert words in rows[0][3]
    assert rows[0][2] == HEAD.split("\n")[-1] + body.split("\n")[0]
    assert rows[0][1] == body.split("\n")[1 if name == "stored to" else 2]


def test_other_threads_need_a_barrier_after_the_wait():
    rows = found("cp16(s + 4 * t, x + 4 * t); commit(); wait<0>();\ny[t] = s[255 - t];")
    assert any(row[0] in ("racecheck.shared.RAW", "racecheck.shared.WAR") for row in rows)


def test_a_copy_into_words_that_others_still_read_races():
    body = "s[t] = t; __syncthreads(); y[t] = s[63 - t];\ncp4(s + t, x + t, 4); __syncthreads(); wait_all();"
    assert "racecheck.shared.WAR" in {row[0] for row in found(body)}


def test_both_ends_are_checked():
    assert [row[0] for row in found("cp16(s + 4 * t, x + 4 * t); wait_all();", size=252)] == [
        "memcheck.global.read-oob"
    ]
    assert [row[0] for row in found("cp16(s + 4 * t + 260, x); wait_all();")] == ["memcheck.shared.write-oob"]
    assert [row[0] for row in found("cp16(s + 4 * t + 1, x + 4 * t); wait_all();")] == ["memcheck.misaligned"]
    assert [row[0] for row in found("cp16(s + 4 * t, x + 4 * t + 2); wait_all();")] == ["memcheck.misaligned"]


def test_copies_count_as_global_loads():
    result, _ = run("cp16(s + 4 * t, x + 4 * t); wait_all(); __syncthreads(); y[t] = s[255 - t];")
    counters = result.counters
    assert (counters.async_copies, counters.global_load_requests, counters.global_load_sectors) == (2, 2, 32)
    assert counters.shared_store_requests == 0


def test_a_full_ring_lands_its_oldest_copies():
    body = "for (int k = 0; k < 300; ++k) cp4(s + t, x + (t + k) % 512, 4); wait_all(); y[t] = s[t];"
    _, y = run(body, checks=())
    assert y.tolist() == [(t + 299) % 512 for t in range(64)]
