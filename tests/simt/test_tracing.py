"""What a launch keeps when asked: requests with their addresses, and the last writer of each word."""

import numpy as np

from simt.events import Access, Argument, Direction, Scope
from simt.launch import Dim3, LaunchConfig
from simt.program import Program

SOURCE = """
extern "C" __global__ void rows(const float* x, float* y, int* total, int n) {
    __shared__ float kept[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        kept[threadIdx.x] = x[i] + x[0];
        y[i + 1] = kept[threadIdx.x];
        atomicAdd(total, 1);
    }
}
"""


def launched(**wanted):
    n = 100
    arguments = [
        Argument("x", Direction.IN, np.arange(n, dtype=np.float32)),
        Argument("y", Direction.INOUT, np.zeros(n + 1, np.float32)),
        Argument("total", Direction.INOUT, np.zeros(1, np.int32)),
        Argument("n", Direction.SCALAR, np.int32(n)),
    ]
    return Program.from_cuda(SOURCE).launch(LaunchConfig(Dim3(2), Dim3(64)), arguments, **wanted)


def test_each_word_names_the_thread_that_wrote_it_last():
    writers = launched(want_writers=True).writers
    assert writers["y"].tolist() == [-1, *range(100)]
    assert writers["total"].tolist() == [99]


def test_a_trace_holds_every_request_in_block_order():
    trace = launched(trace=1000).trace
    loads = [r for r in trace if r.scope is Scope.GLOBAL and r.access is Access.LOAD]
    own = [r for r in loads if len(set(r.addresses[r.active])) > 1]
    same = [r for r in loads if len(set(r.addresses[r.active])) == 1]
    assert {r.buffer for r in loads} == {"x"}
    assert [(r.block[0], r.warp, int(r.addresses[0])) for r in own] == [
        (0, 0, 0),
        (0, 1, 128),
        (1, 0, 256),
        (1, 1, 384),
    ]
    assert own[-1].active.tolist() == [True] * 4 + [False] * 28
    assert [int(r.active.sum()) for r in same] == [32, 32, 32, 4]
    assert sum(r.access is Access.ATOMIC for r in trace) == 4
    assert {r.line for r in trace if r.access is Access.STORE and r.scope is Scope.GLOBAL} == {7}


def test_a_trace_ends_at_its_limit_and_changes_no_result():
    short, without = launched(trace=3), launched()
    assert len(short.trace) == 3 and without.trace == ()
    assert np.array_equal(short.outputs["y"], without.outputs["y"])
    assert short.counters == without.counters
