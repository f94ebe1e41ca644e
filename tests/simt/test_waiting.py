"""Kernels whose threads wait for one another: those that end, and those that never will."""

import numpy as np

from simt.events import Argument, Budget, Direction, Status
from simt.launch import Dim3, LaunchConfig
from simt.program import Program

FLAG = np.zeros(1, np.int32)


def launched(source, block, *arguments, grid=1):
    return Program.from_cuda(source).launch(LaunchConfig(Dim3(grid), Dim3(block)), arguments)


def slugs(result):
    return {d.check for d in result.diagnostics if d.severity != "advice"}


def test_a_flag_that_nobody_sets_is_named_and_not_waited_for():
    result = launched(
        'extern "C" __global__ void k(volatile int* flag, int* y) {\n  while (*flag == 0) { }\n  y[0] = 1;\n}', 32,
        Argument("flag", Direction.INOUT, FLAG), Argument("y", Direction.OUT, FLAG),
    )  # fmt: skip
    (found,) = [d for d in result.diagnostics if d.check == "livelock.spin"]
    assert (result.status, found.line) == (Status.STOPPED, 2)


def test_an_endless_loop_around_a_barrier_ends_by_its_budget():
    program = Program.from_cuda(
        'extern "C" __global__ void k(int* y) {\n  y[threadIdx.x] = 1;\n  while (true) {\n    __syncthreads();\n  }\n}'
    )
    arguments = [Argument("y", Direction.OUT, np.zeros(64, np.int32))]
    result = program.launch(
        LaunchConfig(Dim3(2), Dim3(64)), arguments, budget=Budget(warp_instructions=10_000), threads=1
    )
    (found,) = [d for d in result.diagnostics if d.check == "runtime.budget"]
    assert (result.status, found.line) == (Status.BUDGET, 4)


def test_a_flag_that_another_warp_sets_is_waited_for():
    result = launched(
        'extern "C" __global__ void k(volatile int* flag, int* y) {\n'
        "  if (threadIdx.x < 32) { while (*flag == 0) { } y[threadIdx.x] = *flag; }\n"
        "  else if (threadIdx.x == 32) { for (int i = 0; i < 50000; ++i) y[32] = i; __threadfence(); *flag = 7; }\n}", 64,
        Argument("flag", Direction.INOUT, FLAG), Argument("y", Direction.OUT, np.zeros(33, np.int32)),
    )  # fmt: skip
    assert result.outputs["y"][:32].tolist() == [7] * 32


def test_a_work_queue_is_no_livelock():
    result = launched(
        'extern "C" __global__ void k(int* next, int* y, int n) {\n'
        "  int i;\n  while ((i = atomicAdd(next, 1)) < n) y[i] = 2 * i;\n}", 64,
        Argument("next", Direction.INOUT, FLAG), Argument("y", Direction.OUT, np.zeros(50_000, np.int32)),
        Argument("n", Direction.SCALAR, np.int32(50_000)), grid=2,
    )  # fmt: skip
    assert result.status is Status.OK
    assert np.array_equal(result.outputs["y"], 2 * np.arange(50_000))


def test_a_compare_and_swap_loop_is_no_race():
    result = launched(
        "__device__ void add(double* a, double v) {\n"
        "  unsigned long long* p = (unsigned long long*)a;\n  unsigned long long old = *p, seen;\n"
        "  do { seen = old; old = atomicCAS(p, seen, __double_as_longlong(v + __longlong_as_double(seen))); }\n"
        "  while (seen != old);\n}\n"
        'extern "C" __global__ void k(const double* x, double* out, int n) {\n'
        "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) add(out, x[i]);\n}", 128,
        Argument("x", Direction.IN, np.ones(500)), Argument("out", Direction.INOUT, np.zeros(1)),
        Argument("n", Direction.SCALAR, np.int32(500)), grid=4,
    )  # fmt: skip
    assert (slugs(result), result.outputs["out"].tolist()) == (set(), [500.0])


def test_a_block_larger_than_the_launch_bounds_is_refused():
    result = launched(
        'extern "C" __global__ void __launch_bounds__(128) k(int* y) { y[threadIdx.x] = 1; }', 256,
        Argument("y", Direction.OUT, np.zeros(256, np.int32)),
    )  # fmt: skip
    assert (result.status, slugs(result)) == (Status.REJECTED, {"launch.threads-per-block"})


def test_the_number_of_native_threads_changes_nothing():
    source = (
        'extern "C" __global__ void k(const int* x, int* y, int n) {\n'
        "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n && x[i] % 3 == 0) y[i] = x[i] + 1;\n"
        "  else if (i < n) y[i] = -1;\n}"
    )
    x = np.arange(5000, dtype=np.int32)
    one, two = (
        Program.from_cuda(source).launch(
            LaunchConfig(Dim3(20), Dim3(256)),
            [Argument("x", Direction.IN, x), Argument("y", Direction.OUT, x), Argument("n", Direction.SCALAR, np.int32(5000))],
            checks=frozenset({"memcheck", "initcheck"}), threads=threads,
        )
        for threads in (1, 2)
    )  # fmt: skip
    assert np.array_equal(one.outputs["y"], np.where(x % 3 == 0, x + 1, -1))
    assert one.counters.global_load_sectors == 625
    assert (one.counters, one.by_line, one.diagnostics) == (two.counters, two.by_line, two.diagnostics)
    assert np.array_equal(one.outputs["y"], two.outputs["y"])
