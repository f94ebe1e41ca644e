"""An estimate of a launch on one or more GPUs, from a sample of its blocks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from simt.events import Argument
from simt.gpus import Gpu
from simt.launch import LaunchConfig
from simt.model.estimate import Estimate, estimate, residency
from simt.model.mix import block_mixes
from simt.model.rates import rates_of
from simt.model.work import Work
from simt.runner.launch import Kernel
from simt.runner.sampling import Counted, Sampler
from simt.runner.traffic import Effort, sample_traffic

__all__ = ["FULL", "QUICK", "LaunchEstimate", "estimate_launch"]

FULL = Effort(blocks=4, fuel=4_000_000, requests=50_000)
QUICK = Effort(blocks=4, fuel=1_000_000, requests=16_000)
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
    n = sum(one.blocks for one in counted)
    if not n:
        return tuple(LaunchEstimate(gpu, None, 0, total, rates_of(gpu.id).calibrated) for gpu in gpus)
    work = Work(
        kernel.plan, total, config.block.volume, registers or ASSUMED_REGISTERS, shared_bytes,
        sampler.buffers_of_sites(), sampler.buffer_bytes, block_mixes(kernel.plan),
        *_of_a_block(counted if n == total or len(counted) == 1 else counted[1:]),
    )  # fmt: skip
    runs, sites = _of_a_block([max(counted, key=lambda one: one.instructions)])
    longest = replace(work, runs=runs, sites=sites)
    found = []
    for gpu in gpus:
        rates = rates_of(gpu.id)
        fit = residency(work, gpu)
        made = None
        if fit:
            made = estimate(work, longest, sample_traffic(sampler, work, gpu, fit, effort), gpu, rates)
        found.append(LaunchEstimate(gpu, made, n, total, rates.calibrated))
    return tuple(found)


def _of_a_block(counted: Sequence[Counted]) -> tuple[np.ndarray, np.ndarray]:
    """(n_basic_blocks,) runs by warps and (n_sites, 12) counts of sites: averages of a block."""
    n = sum(one.blocks for one in counted)
    runs, sites = (np.sum([getattr(one, name) for one in counted], axis=0) for name in ("runs", "sites"))
    return runs[:, :2].sum(axis=1) / n, sites / n
