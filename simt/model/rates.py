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


# Cycles of instructions are round numbers within what microbenchmarks of Volta to Hopper report for dependent chains, such as
# Luo et al., "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture via Microbenchmarking" (arXiv 2402.13499), which
# also gives the share of their peak that tensor cores reach by mma.sync. Latencies of memory are from
# github.com/markdewing/AI_kernels, latency/README.md (V100, 4090, GH200 and B200). DRAM under load takes longer than alone:
# 810 instead of 690 cycles fit the H200's times, and the others' are taken as much longer.
LATENCIES = Latencies(arithmetic=4, special=18, double=8, shared=29, shuffle=23, barrier=20, tensor=33)
UNDER_LOAD = 810 / 690


def _rates(l1: float, l2: float, dram: float, *, calibrated: bool = False) -> Rates:
    return Rates(LATENCIES, l1=l1, l2=l2, dram=round(dram * UNDER_LOAD), calibrated=calibrated)


VOLTA = _rates(36, 221, 460)  # nearest to Turing, which has the same levels (Jia et al., arXiv 1903.07486)
ADA = _rates(40, 296, 636)
HOPPER = _rates(40, 281, 690)
RATES: dict[str, Rates] = {
    "t4": VOLTA,
    "a100-40": VOLTA,  # HBM behind an L2 of two parts; no published triple was found
    "a100-80": VOLTA,
    "rtx3090": ADA,  # GDDR6X too; no published triple was found
    "rtx4090": ADA,
    "h100": HOPPER,
    "h200": _rates(40, 281, 690, calibrated=True),
    "b200": _rates(40, 295, 860),
}


def rates_of(gpu_id: str) -> Rates:
    """The row of a GPU by its id in `simt.gpus`."""
    return RATES[gpu_id]
