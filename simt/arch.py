"""Limits of one GPU architecture: how much of everything a block, a thread and an SM may have.

What a product adds (number of SMs, clocks, bandwidths) is in `simt.gpus`; how the limits combine is in
`simt.occupancy` and `simt.launch`.

Sources, named by the short words that the fields use:
    guide      CUDA C++ Programming Guide, appendix Compute Capabilities, tables "Technical Specifications per
               Compute Capability" and "Arithmetic Instructions" (operations per clock cycle per SM).
    occupancy  `cuda_occupancy.h` of the CUDA 13 toolkit, NVIDIA's occupancy calculator in C.
    traits     `cuda/__device/arch_traits.h` of CCCL 3.x, the same limits as compile-time constants.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["ARCHES", "Arch", "UnknownArch", "arch"]

KIB = 1024


class UnknownArch(ValueError):
    """The named architecture has no row in this module."""


@dataclass(frozen=True, slots=True)
class Arch:
    """Limits of one compute capability; every count is per SM unless its name says otherwise.

    The first group differs between architectures and is given in each row; the second is the same in all of them.
    """

    name: str
    family: str
    max_threads_per_sm: int  # guide, traits
    max_blocks_per_sm: int  # guide, occupancy, traits
    shared_bytes_per_sm: int  # guide, traits
    shared_carveouts: tuple[int, ...]  # bytes that the driver can set aside from L1; occupancy, guide
    max_shared_bytes_per_block: int  # with the opt-in attribute; guide, traits
    reserved_shared_bytes_per_block: int  # taken by the driver from sm_80 on; guide (note on 1 KB), traits
    shared_granularity: int  # bytes; occupancy: 256 before sm_80, then 128
    l1_bytes_per_sm: int  # L1 and shared memory together; guide, section of each architecture
    max_cluster_blocks: int  # portable cluster size, 1 without clusters; guide, section Thread Block Clusters
    fp32_lanes: int  # 32-bit float add, multiply, fma per clock; guide, Arithmetic Instructions
    fp64_lanes: int  # 64-bit float add, multiply, fma per clock; guide, Arithmetic Instructions
    int32_lanes: int  # 32-bit integer add, compare, min, max per clock; guide, Arithmetic Instructions

    special_lanes: int = 16  # rcp, rsqrt, ex2, lg2, sin, cos per clock; guide, Arithmetic Instructions
    warp_size: int = 32  # guide
    warp_schedulers: int = 4  # guide, section of each architecture; occupancy: sub-partitions
    max_threads_per_block: int = 1024  # guide, traits
    max_block: tuple[int, int, int] = (1024, 1024, 64)  # guide, traits
    max_grid: tuple[int, int, int] = (2**31 - 1, 65535, 65535)  # guide, traits
    registers_per_sm: int = 64 * KIB  # guide, traits
    registers_per_block: int = 64 * KIB  # guide, traits
    max_registers_per_thread: int = 255  # guide, traits
    min_registers_per_thread: int = 16  # a kernel of 4 is allocated 16; tests/golden/ncu/sm_90/truth.json, `noop`
    register_granularity: int = 256  # registers, allocated per warp; occupancy
    default_shared_bytes_per_block: int = 48 * KIB  # static, or dynamic without opt-in; guide, traits
    constant_bytes: int = 64 * KIB  # guide, traits
    shared_banks: int = 32  # guide, section Shared Memory of each architecture
    shared_bank_bytes: int = 4  # guide, section Shared Memory of each architecture

    @property
    def max_warps_per_sm(self) -> int:
        """Warps that one SM can hold at a time."""
        return self.max_threads_per_sm // self.warp_size

    @property
    def capability(self) -> tuple[int, int]:
        """Compute capability as (major, minor)."""
        number = int(self.name.removeprefix("sm_"))
        return number // 10, number % 10


def _carveouts(*kib: int) -> tuple[int, ...]:
    return tuple(size * KIB for size in kib)


SM_75 = Arch(
    name="sm_75",
    family="Turing",
    max_threads_per_sm=1024,
    max_blocks_per_sm=16,
    shared_bytes_per_sm=64 * KIB,
    shared_carveouts=_carveouts(32, 64),
    max_shared_bytes_per_block=64 * KIB,
    reserved_shared_bytes_per_block=0,
    shared_granularity=256,
    l1_bytes_per_sm=96 * KIB,
    max_cluster_blocks=1,
    fp32_lanes=64,
    fp64_lanes=2,
    int32_lanes=64,
)

SM_80 = Arch(
    name="sm_80",
    family="Ampere",
    max_threads_per_sm=2048,
    max_blocks_per_sm=32,
    shared_bytes_per_sm=164 * KIB,
    shared_carveouts=_carveouts(0, 8, 16, 32, 64, 100, 132, 164),
    max_shared_bytes_per_block=163 * KIB,
    reserved_shared_bytes_per_block=KIB,
    shared_granularity=128,
    l1_bytes_per_sm=192 * KIB,
    max_cluster_blocks=1,
    fp32_lanes=64,
    fp64_lanes=32,
    int32_lanes=64,
)

SM_86 = Arch(
    name="sm_86",
    family="Ampere",
    max_threads_per_sm=1536,
    max_blocks_per_sm=16,
    shared_bytes_per_sm=100 * KIB,
    shared_carveouts=_carveouts(0, 8, 16, 32, 64, 100),
    max_shared_bytes_per_block=99 * KIB,
    reserved_shared_bytes_per_block=KIB,
    shared_granularity=128,
    l1_bytes_per_sm=128 * KIB,
    max_cluster_blocks=1,
    fp32_lanes=128,
    fp64_lanes=2,
    int32_lanes=64,
)

SM_89 = Arch(
    name="sm_89",
    family="Ada Lovelace",
    max_threads_per_sm=1536,
    max_blocks_per_sm=24,
    shared_bytes_per_sm=100 * KIB,
    shared_carveouts=_carveouts(0, 8, 16, 32, 64, 100),
    max_shared_bytes_per_block=99 * KIB,
    reserved_shared_bytes_per_block=KIB,
    shared_granularity=128,
    l1_bytes_per_sm=128 * KIB,
    max_cluster_blocks=1,
    fp32_lanes=128,
    fp64_lanes=2,
    int32_lanes=64,
)

SM_90 = Arch(
    name="sm_90",
    family="Hopper",
    max_threads_per_sm=2048,
    max_blocks_per_sm=32,
    shared_bytes_per_sm=228 * KIB,
    shared_carveouts=_carveouts(0, 8, 16, 32, 64, 100, 132, 164, 196, 228),
    max_shared_bytes_per_block=227 * KIB,
    reserved_shared_bytes_per_block=KIB,
    shared_granularity=128,
    l1_bytes_per_sm=256 * KIB,
    max_cluster_blocks=8,
    fp32_lanes=128,
    fp64_lanes=64,
    int32_lanes=64,
)

SM_100 = Arch(
    name="sm_100",
    family="Blackwell",
    max_threads_per_sm=2048,
    max_blocks_per_sm=32,
    shared_bytes_per_sm=228 * KIB,
    shared_carveouts=_carveouts(0, 8, 16, 32, 64, 100, 132, 164, 196, 228),
    max_shared_bytes_per_block=227 * KIB,
    reserved_shared_bytes_per_block=KIB,
    shared_granularity=128,
    l1_bytes_per_sm=256 * KIB,
    max_cluster_blocks=8,
    fp32_lanes=128,
    fp64_lanes=64,
    int32_lanes=64,
)

SM_120 = Arch(
    name="sm_120",
    family="Blackwell",
    max_threads_per_sm=1536,
    max_blocks_per_sm=24,
    shared_bytes_per_sm=100 * KIB,
    shared_carveouts=_carveouts(0, 8, 16, 32, 64, 100),
    max_shared_bytes_per_block=99 * KIB,
    reserved_shared_bytes_per_block=KIB,
    shared_granularity=128,
    l1_bytes_per_sm=128 * KIB,
    max_cluster_blocks=8,
    fp32_lanes=128,
    fp64_lanes=2,
    int32_lanes=128,
)

ARCHES: tuple[Arch, ...] = (SM_75, SM_80, SM_86, SM_89, SM_90, SM_100, SM_120)


def arch(name: str) -> Arch:
    """The row for `sm_90`, `compute_90` or either with a feature suffix (`sm_90a`, `sm_120f`).

    Raises:
        UnknownArch: no row has that compute capability; the message lists those that do.
    """
    known = {row.name: row for row in ARCHES}
    match = re.fullmatch(r"(?:sm|compute)_(\d{2,3})[af]?", name)
    row = known.get(f"sm_{match[1]}") if match else None
    if row is None:
        raise UnknownArch(f"unknown architecture {name!r}; known are {', '.join(known)}")
    return row
