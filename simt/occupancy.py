"""Resident blocks and warps of an SM, computed as NVIDIA's occupancy calculator does.

Source of the rules: `cuda_occupancy.h` of the CUDA 13 toolkit. They are held against Nsight Compute's
`launch__occupancy_limit_*` for 91 launches on an H200 (tests/golden/ncu/sm_90/truth.json).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from simt.arch import Arch
from simt.launch import registers_of_block, registers_of_warp, round_up

__all__ = ["Limit", "Occupancy", "occupancy"]


class Limit(StrEnum):
    """What can stop another block from becoming resident."""

    BLOCKS = "blocks"
    WARPS = "warps"
    REGISTERS = "registers"
    SHARED = "shared"


@dataclass(frozen=True, slots=True)
class Occupancy:
    """How full one SM gets.

    Attributes:
        blocks: resident blocks; 0 when not even one fits.
        warps: resident warps.
        fraction: warps over the warps that the SM could hold, 0 to 1.
        limits: blocks that each resource alone would allow.
        limited_by: the resources that allow the fewest, in the order of `Limit`.
        allocated_registers: registers a thread once a warp's are rounded up to whole units.
        allocated_shared_bytes: shared bytes of a block with the driver's share, rounded up.
    """

    blocks: int
    warps: int
    fraction: float
    limits: dict[Limit, int]
    limited_by: tuple[Limit, ...]
    allocated_registers: int
    allocated_shared_bytes: int


def occupancy(
    arch: Arch,
    *,
    registers: int,
    shared_bytes: int,
    threads: int,
    carveout_bytes: int | None = None,
) -> Occupancy:
    """How many blocks and warps of a kernel fit on one SM of `arch`.

    Args:
        arch: limits of the SM.
        registers: registers of a thread as the compiler reports them.
        shared_bytes: static plus dynamic shared memory of a block.
        threads: threads of a block.
        carveout_bytes: shared memory that the driver has set aside from L1; None for the largest setting, which is
            what the vendor's calculator assumes. Nsight reports the limit under the setting in force at the launch.
    """
    warps_per_block = max(1, -(-threads // arch.warp_size))
    per_warp = registers_of_warp(arch, registers)
    shared = round_up(shared_bytes + arch.reserved_shared_bytes_per_block, arch.shared_granularity)
    limits = {
        Limit.BLOCKS: arch.max_blocks_per_sm,
        Limit.WARPS: arch.max_warps_per_sm // warps_per_block if threads <= arch.max_threads_per_block else 0,
        Limit.REGISTERS: _register_limit(arch, registers, per_warp, threads, warps_per_block),
        Limit.SHARED: _shared_limit(arch, shared, shared_bytes, carveout_bytes),
    }
    blocks = min(limits.values())
    warps = blocks * warps_per_block
    return Occupancy(
        blocks=blocks,
        warps=warps,
        fraction=warps / arch.max_warps_per_sm,
        limits=limits,
        limited_by=tuple(limit for limit, allowed in limits.items() if allowed == blocks),
        allocated_registers=per_warp // arch.warp_size,
        allocated_shared_bytes=shared,
    )


def _register_limit(arch: Arch, registers: int, per_warp: int, threads: int, warps_per_block: int) -> int:
    """Blocks whose registers fit; each scheduler owns a quarter of the file and takes whole warps."""
    if registers > arch.max_registers_per_thread:
        return 0
    if registers_of_block(arch, registers=registers, threads=threads) > arch.registers_per_block:
        return 0
    warps_per_scheduler = arch.registers_per_sm // arch.warp_schedulers // per_warp
    return warps_per_scheduler * arch.warp_schedulers // warps_per_block


def _shared_limit(arch: Arch, allocated: int, asked: int, carveout_bytes: int | None) -> int:
    """Blocks whose shared memory fits; without any use of it, as many as the SM has slots."""
    if asked > arch.max_shared_bytes_per_block:
        return 0
    if allocated == 0:
        return arch.max_blocks_per_sm
    capacity = arch.shared_bytes_per_sm if carveout_bytes is None else carveout_bytes
    return capacity // allocated
