"""Exchanges: one whose old value nobody looks at only writes, whatever stood there before."""

import numpy as np
import pytest

from simt.events import Argument, Direction
from simt.launch import Dim3, LaunchConfig
from simt.program import Program

HEAD = (
    'extern "C" __global__ void k(const float* x, float* y) {\n    __shared__ float t[64];\n    int i = threadIdx.x;\n'
)
X = np.arange(64, dtype=np.float32)


def findings(body):
    program = Program.from_cuda(HEAD + body + "\n}")
    arguments = (Argument("x", Direction.IN, X), Argument("y", Direction.OUT, np.zeros(64, np.float32)))
    result = program.launch(LaunchConfig(Dim3(1), Dim3(64)), arguments)
    return result.outputs["y"], {d.check for d in result.diagnostics if d.severity == "error"}


UNUSED = {
    "global": "    atomicExch(&y[i], x[i]);",
    "shared": "    atomicExch(&t[i], x[i]);\n    __syncthreads();\n    y[i] = t[i];",
    "assigned": "    float old = atomicExch(&y[i], x[i]);\n    (void)old;",
    "64 bits": "    if (i < 32) atomicExch((unsigned long long*)y + i, ((const unsigned long long*)x)[i]);",
    "assembly": '    float old;\n    asm("atom.global.exch.b32 %0, [%1], %2;" : "=f"(old) : "l"(y + i), "f"(x[i]) : "memory");',
}


@pytest.mark.parametrize("body", UNUSED.values(), ids=UNUSED)
def test_an_exchange_whose_old_value_is_unused_reads_nothing(body):
    outputs, found = findings(body)
    assert np.array_equal(outputs, X) and not found


USED = {
    "global": ("    float old = atomicExch(&y[i], x[i]);\n    if (old == 3.0f) y[i] = old;", "initcheck.global"),
    "shared": ("    y[i] = atomicExch(&t[i], x[i]);", "initcheck.shared"),
    "compare": ("    atomicCAS((int*)&y[i], 0, 1);", "initcheck.global"),
    "sum": ("    atomicAdd(&y[i], x[i]);", "initcheck.global"),
}


@pytest.mark.parametrize(("body", "check"), USED.values(), ids=USED)
def test_an_update_that_depends_on_the_old_value_reads_it(body, check):
    assert check in findings(body)[1]
