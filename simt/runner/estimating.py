"""An estimate of a launch on one or more GPUs, from a sample of its blocks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from simt.events import Argument
from simt.gpus import Gpu
from simt.launch import LaunchConfig
from simt.model.estimate import Estimate, estimate, residency
from simt.model.mix import block_mixes
from simt.model.rates import rates_of
from simt.model.work import Work
from simt.runner.launch import Kernel
from simt.runner.sampling import Sampler
from simt.runner.traffic import Effort, sample_traffic

__all__ = ["FULL", "QUICK", "LaunchEstimate", "estimate_launch"]

FULL = Effort(blocks=4, fuel=4_000_000, requests=50_000)
QUICK = Effort(blocks=2, fuel=1_000_000, requests=16_000)
ASSUMED_REGISTERS = 32  # of a thread where nothing was assembled


@dataclass(frozen=True, slots=True)
class LaunchEstimate:
    """One launch on one GPU.

    Attributes:
        estimate: None when no sampled block came to its end, or not one block fits on an SM.
        blocks_run: that ran to their end.
        calibrated: whether the model was fitted on times of this GPU.
    """

    gpu: Gpu
    estimate: Estimate | None
    blocks_run: int
    blocks_total: int
    calibrated: bool


def estimate_launch(
    kernel: Kernel, config: LaunchConfig, shared_bytes: int, registers: int | None, arguments: Sequence[Argument],
    gpus: Iterable[Gpu], effort: Effort = FULL, constants: dict[str, bytes] | None = None,
) -> tuple[LaunchEstimate, ...]:  # fmt: skip
    """Estimates for each GPU; the kernel works in the arguments' arrays.

    Args:
        shared_bytes: static and dynamic, of a block.
        registers: of a thread, None where nothing was assembled.
    """
    sampler = Sampler(kernel, config, shared_bytes, arguments, constants)
    counted = sampler.count(effort.blocks, effort.fuel)
    total = config.grid.volume
    n = max(counted.blocks, 1)
    work = Work(
        kernel.plan, total, config.block.volume, registers or ASSUMED_REGISTERS, shared_bytes,
        sampler.buffers_of_sites(), sampler.buffer_bytes, block_mixes(kernel.plan),
        counted.runs[:, :2].sum(axis=1) / n, counted.sites / n,
    )  # fmt: skip
    found = []
    for gpu in gpus:
        rates = rates_of(gpu.id)
        fit = residency(work, gpu)
        made = None
        if fit and counted.blocks:
            made = estimate(work, sample_traffic(sampler, work, gpu, fit, effort), gpu, rates)
        found.append(LaunchEstimate(gpu, made, counted.blocks, total, rates.calibrated))
    return tuple(found)
