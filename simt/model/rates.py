"""What a GPU reaches beyond its data sheet: latencies from published microbenchmarks, efficiencies fitted on an H200.

`docs/estimate.md` prints this table. A row without measured times of kernels is *uncalibrated*: its efficiencies are the
H200's, its latencies are published ones.
"""

from __future__ import annotations

from dataclasses import dataclass

from simt.model.mix import Latencies

__all__ = ["RATES", "Rates", "rates_of"]


@dataclass(frozen=True, slots=True)
class Rates:
    """Cycles are of the SM's clock.

    Attributes:
        latencies: of instructions; `l1`, `l2`, `dram`: of a load that hits there.
        dram_efficiency: of peak bandwidth that a copy reaches.
        request_cycles: of L1 for a global request, at least; one cycle for each line.
        l2_line_cycles: of an SM's way to L2 for each line of a request, beside its sectors.
        fma_efficiency, tensor_efficiency: of the pipe's rate that a loop of it reaches.
        launch_seconds: of an empty kernel.
        block_cycles: until a block's first instruction after a block before it has left.
        sharpness: power of the sum that joins limits near each other; the higher, the more like their maximum.
        packet_seconds, lane_seconds: of an atomic's part in one line, and of each lane of it.
        calibrated: fitted on measured times of this GPU.
    """

    latencies: Latencies
    l1: float
    l2: float
    dram: float
    dram_efficiency: float = 0.88
    request_cycles: float = 1.32
    l2_line_cycles: float = 1.2
    fma_efficiency: float = 0.77
    tensor_efficiency: float = 0.629
    launch_seconds: float = 2.7e-6
    block_cycles: float = 735.0
    sharpness: float = 3.75
    packet_seconds: float = 1.12e-9
    lane_seconds: float = 0.7e-9
    calibrated: bool = False


HOPPER = Latencies(arithmetic=4, special=18, double=8, shared=29, shuffle=23, barrier=20, tensor=33)
RATES: dict[str, Rates] = {
    "h200": Rates(HOPPER, l1=40, l2=281, dram=810, calibrated=True),
}


def rates_of(gpu_id: str) -> Rates:
    """The row of a GPU by its id in `simt.gpus`."""
    return RATES[gpu_id]
