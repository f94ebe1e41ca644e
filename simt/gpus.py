"""GPU products: what a chip adds to its architecture (how many SMs, how fast, how much memory behind them).

Rates are peaks as the vendor states them, L2 bandwidth is a published measurement. A clock is the boost clock, at
which the stated rates hold; a real run may be slower.

Sources, named by the short words that the rows use:
    T4       NVIDIA T4 datasheet and Turing whitepaper WP-09183-001, appendix "Turing TU104 GPU".
    A100     NVIDIA A100 whitepaper V1.0, table 4, and A100 datasheet (80 GB SXM).
    GA102    NVIDIA Ampere GA102 whitepaper V2, table 2 and appendix A.
    Ada      NVIDIA Ada GPU architecture whitepaper V2, appendix A.
    H100     NVIDIA H100 whitepaper V1.04, table 3, and H100 datasheet (SXM5); the clock is what its 66.9 TFLOP/s need.
    H200     NVIDIA H200 datasheet; the compute part is the H100 SXM5's.
    B200     NVIDIA Blackwell datasheet (HGX B200, per GPU); SMs and L2 as the CUDA driver reports them
             (pytorch/ao pull request 4002); the clock is what 75 TFLOP/s need.
    benches  gpu-l2-cache of github.com/te42kyfo/gpu-benches, data sets of 17 to 28 MB, measured.
"""

from __future__ import annotations

from dataclasses import dataclass

from simt.arch import Arch, arch

__all__ = ["GPUS", "Gpu", "UnknownGpu", "gpu"]

KIB = 1024
MIB = 1024 * KIB
GIGA = 1e9
TERA = 1e12


class UnknownGpu(ValueError):
    """The named product has no row in this module."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """One product.

    Attributes:
        id: short name in commands and reports.
        name: as the vendor writes it.
        arch: limits of its SMs.
        sm_count: SMs that are enabled.
        clock_hz: boost clock.
        memory_bytes: device memory.
        memory_bandwidth: bytes a second, peak.
        l2_bytes: L2 cache.
        l2_bandwidth: bytes a second that a kernel read from L2, measured; None where no measurement was found.
        tensor_flops: half-precision tensor operations a second with 32-bit sums, dense.
        source: where the numbers are from.
    """

    id: str
    name: str
    arch: Arch
    sm_count: int
    clock_hz: float
    memory_bytes: int
    memory_bandwidth: float
    l2_bytes: int
    l2_bandwidth: float | None
    tensor_flops: float
    source: str

    @property
    def fp32_flops(self) -> float:
        """32-bit operations a second, two for a fused multiply-add."""
        return 2.0 * self.arch.fp32_lanes * self.sm_count * self.clock_hz


T4 = Gpu(
    id="t4",
    name="Tesla T4",
    arch=arch("sm_75"),
    sm_count=40,
    clock_hz=1.590 * GIGA,
    memory_bytes=16 * 1024 * MIB,
    memory_bandwidth=320 * GIGA,
    l2_bytes=4 * MIB,
    l2_bandwidth=None,
    tensor_flops=65 * TERA,
    source="T4",
)

A100_40 = Gpu(
    id="a100-40",
    name="A100-SXM4-40GB",
    arch=arch("sm_80"),
    sm_count=108,
    clock_hz=1.410 * GIGA,
    memory_bytes=40 * 1024 * MIB,
    memory_bandwidth=1555 * GIGA,
    l2_bytes=40 * MIB,
    l2_bandwidth=5.3 * TERA,
    tensor_flops=312 * TERA,
    source="A100; L2 bandwidth: benches, a100_80.txt (the same chip)",
)

A100_80 = Gpu(
    id="a100-80",
    name="A100-SXM4-80GB",
    arch=arch("sm_80"),
    sm_count=108,
    clock_hz=1.410 * GIGA,
    memory_bytes=80 * 1024 * MIB,
    memory_bandwidth=2039 * GIGA,
    l2_bytes=40 * MIB,
    l2_bandwidth=5.3 * TERA,
    tensor_flops=312 * TERA,
    source="A100; L2 bandwidth: benches, a100_80.txt",
)

RTX_3090 = Gpu(
    id="rtx3090",
    name="GeForce RTX 3090",
    arch=arch("sm_86"),
    sm_count=82,
    clock_hz=1.695 * GIGA,
    memory_bytes=24 * 1024 * MIB,
    memory_bandwidth=936 * GIGA,
    l2_bytes=6 * MIB,
    l2_bandwidth=None,
    tensor_flops=71 * TERA,
    source="GA102",
)

RTX_4090 = Gpu(
    id="rtx4090",
    name="GeForce RTX 4090",
    arch=arch("sm_89"),
    sm_count=128,
    clock_hz=2.520 * GIGA,
    memory_bytes=24 * 1024 * MIB,
    memory_bandwidth=1008 * GIGA,
    l2_bytes=72 * MIB,
    l2_bandwidth=None,
    tensor_flops=165.2 * TERA,
    source="Ada",
)

H100 = Gpu(
    id="h100",
    name="H100 SXM5",
    arch=arch("sm_90"),
    sm_count=132,
    clock_hz=1.980 * GIGA,
    memory_bytes=80 * 1024 * MIB,
    memory_bandwidth=3350 * GIGA,
    l2_bytes=50 * MIB,
    l2_bandwidth=9.7 * TERA,
    tensor_flops=989.4 * TERA,
    source="H100; L2 bandwidth: benches, h200.txt (the same chip)",
)

H200 = Gpu(
    id="h200",
    name="H200 SXM",
    arch=arch("sm_90"),
    sm_count=132,
    clock_hz=1.980 * GIGA,
    memory_bytes=141 * 1000 * 1000 * 1000,
    memory_bandwidth=4800 * GIGA,
    l2_bytes=50 * MIB,
    l2_bandwidth=9.7 * TERA,
    tensor_flops=989.4 * TERA,
    source="H200; L2 bandwidth: benches, h200.txt",
)

B200 = Gpu(
    id="b200",
    name="B200",
    arch=arch("sm_100"),
    sm_count=148,
    clock_hz=1.980 * GIGA,
    memory_bytes=180 * 1000 * 1000 * 1000,
    memory_bandwidth=7700 * GIGA,
    l2_bytes=126 * MIB,
    l2_bandwidth=None,
    tensor_flops=2250 * TERA,
    source="B200",
)

GPUS: tuple[Gpu, ...] = (T4, A100_40, A100_80, RTX_3090, RTX_4090, H100, H200, B200)


def gpu(name: str) -> Gpu:
    """The row of a product by its id, whatever the case, spaces and dashes: `h200`, `RTX 4090`, `A100-80GB`.

    Raises:
        UnknownGpu: no row has that id; the message lists those that do.
    """
    wanted = _plain(name)
    for row in GPUS:
        if wanted in (_plain(row.id), _plain(row.name)):
            return row
    raise UnknownGpu(f"unknown GPU {name!r}; known are {', '.join(row.id for row in GPUS)}")


def _plain(name: str) -> str:
    return name.lower().removeprefix("nvidia ").removesuffix("gb").replace(" ", "").replace("-", "")
