"""How long an estimate at full size takes once the kernel is compiled."""

import pytest

from simt.launch import Dim3, LaunchConfig
from simt.runner.estimating import FULL, QUICK, estimate_launch
from tests.golden.estimates import H200, ROWS, _argument, program


@pytest.mark.parametrize("effort", [FULL, QUICK], ids=["full", "quick"])
@pytest.mark.parametrize("label", ["copy_f4 n=67108864", "gemm_tiled32 n=4096", "gemm_reg8 n=4096"])
def test_estimate_at_full_size(benchmark, label, effort):
    row = ROWS[label]
    made = program(row["kernel"])
    config = LaunchConfig(Dim3.of(row["grid"]), Dim3.of(row["block"]))
    kernel = made._kernel(config)
    kernel.full_address()
    arguments = [_argument(index, given) for index, given in enumerate(row["args"])]

    def estimated():
        shared, registers = kernel.plan.static_shared_bytes, made.resources.registers
        return estimate_launch(kernel, config, shared, registers, arguments, (H200,), effort)

    (found,) = benchmark(estimated)
    assert found.estimate is not None
