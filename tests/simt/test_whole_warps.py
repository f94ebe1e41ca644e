"""What a warp does together with one value for all its lanes; tables of functions that nobody calls through."""

import numpy as np
import pytest

from simt.events import Argument, Direction, Status
from simt.launch import Dim3, LaunchConfig
from simt.program import Program

# Statements that leave `found` as it should be, of values that are the same in every lane: `n` is 40, `all` has 32 bits.
ROWS = {
    "__reduce_add_sync(all, 1u)": 32,
    "__reduce_max_sync(all, (int)n)": 40,
    "n > 3 ? __reduce_xor_sync(all, n) : 5u": 0,
    "__reduce_add_sync(all, __reduce_add_sync(all, 1u))": 1024,
    "__shfl_xor_sync(all, n, 1)": 40,
    "__ballot_sync(all, n > 3)": 0xFFFFFFFF,
    "__all_sync(all, n > 3) + __any_sync(all, n > 50)": 1,
    "__match_any_sync(all, n)": 0xFFFFFFFF,
    "__activemask()": 0xFFFFFFFF,
    "__syncthreads_count(n > 3)": 64,
}
KERNEL = """extern "C" __global__ void k(unsigned* y, unsigned n) {
    unsigned i = threadIdx.x, all = 0xffffffffu, before = i * 3 + 1;
    unsigned found = %s;
    if (i < n) y[i] = found + before;
}"""


@pytest.mark.parametrize("expression", ROWS)
def test_one_value_for_all_lanes_leaves_other_registers_alone(expression):
    y = Argument("y", Direction.OUT, np.zeros(40, np.uint32))
    program = Program.from_cuda(KERNEL % expression)
    result = program.launch(LaunchConfig(Dim3(1), Dim3(64)), [y, Argument("n", Direction.SCALAR, np.uint32(40))])
    want = (np.arange(40) * 3 + 1 + ROWS[expression]).astype(np.uint32)
    assert (result.status, result.outputs["y"].tolist()) == (Status.OK, want.tolist())


def test_a_table_of_functions_may_stand_where_every_call_was_resolved():
    program = Program.from_cuda("""struct Shape { __device__ virtual int area(int v) const = 0; };
struct Square : Shape { __device__ int area(int v) const override { return v * v; } };
extern "C" __global__ void k(int* y) { Square square; const Shape* shape = &square; y[threadIdx.x] = shape->area(threadIdx.x); }
""")
    y = Argument("y", Direction.OUT, np.zeros(32, np.int32))
    result = program.launch(LaunchConfig(Dim3(1), Dim3(32)), [y])
    assert (result.status, result.outputs["y"].tolist()) == (Status.OK, [i * i for i in range(32)])
