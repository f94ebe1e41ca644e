"""The shape of a launch, and the checks that CUDA makes before a kernel starts.

CUDA answers every one of these mistakes with the same "invalid configuration argument"; here each has its own
diagnostic with the numbers in it. Arguments are checked where they are bound, not here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from simt.arch import Arch
from simt.diagnostics import Diagnostic, diagnose

__all__ = [
    "Dim3", "LaunchConfig", "check_launch", "registers_of_block", "registers_of_warp", "round_up", "with_declared_cluster",
]  # fmt: skip


# Source: CUDA C++ Programming Guide, "Thread Block Clusters": 8 blocks run everywhere, more only where the device says so.
NON_PORTABLE_BLOCKS = 16


@dataclass(frozen=True, slots=True)
class Dim3:
    """A size in up to three dimensions, x varying fastest."""

    x: int
    y: int = 1
    z: int = 1

    @classmethod
    def of(cls, size: int | Sequence[int] | Dim3) -> Dim3:
        """`size` as a Dim3: an int is x, a sequence of one to three ints is x, y, z.

        Raises:
            TypeError: it is text, or a part is not exactly an int (`True` and 2.0 are not).
            ValueError: no part, or more than three.
        """
        if isinstance(size, Dim3):
            return size
        if isinstance(size, str):
            raise TypeError(f"a dimension is an int or up to three, got the text {size!r}")
        parts = (size,) if type(size) is int else tuple(size)  # type: ignore[arg-type]
        if not 1 <= len(parts) <= 3:
            raise ValueError(f"a dimension has one to three parts, got {len(parts)}: {parts!r}")
        for part in parts:
            if type(part) is not int:
                raise TypeError(f"a dimension is made of ints, got {part!r} ({type(part).__name__})")
        return cls(*parts)

    @property
    def volume(self) -> int:
        """x · y · z."""
        return self.x * self.y * self.z

    def __iter__(self) -> Iterator[int]:
        return iter((self.x, self.y, self.z))

    def __str__(self) -> str:
        return f"({self.x}, {self.y}, {self.z})"


@dataclass(frozen=True, slots=True)
class LaunchConfig:
    """What stands between `<<<` and `>>>`, plus the attributes that a launch may need.

    Attributes:
        grid: blocks in each dimension.
        block: threads in each dimension.
        shared_bytes: dynamic shared memory of each block.
        max_dynamic_shared: opt-in limit set on the kernel (`max_dynamic_shared_size_bytes`), None when not set.
        cluster: blocks of a cluster in each dimension, None for a launch without clusters.
        cooperative: a launch whose blocks are all resident at once, so that the grid can synchronise.
    """

    grid: Dim3
    block: Dim3
    shared_bytes: int = 0
    max_dynamic_shared: int | None = None
    cluster: Dim3 | None = None
    cooperative: bool = False


def check_launch(
    config: LaunchConfig,
    arch: Arch,
    *,
    static_shared_bytes: int = 0,
    registers: int | None = None,
) -> tuple[Diagnostic, ...]:
    """Everything for which `arch` would refuse to start the kernel; empty when it would start.

    Args:
        config: the launch.
        arch: limits to hold it against.
        static_shared_bytes: shared memory that the kernel declares itself.
        registers: registers of a thread, None when they are not known.
    """
    return (
        *_block_findings(config.block, arch),
        *_grid_findings(config.grid, arch),
        *_shared_findings(config, arch, static_shared_bytes),
        *_register_findings(config.block, arch, registers),
        *_cluster_findings(config, arch),
    )


def _block_findings(block: Dim3, arch: Arch) -> Iterator[Diagnostic]:
    for axis, size, most in zip("xyz", block, arch.max_block, strict=True):
        if size < 1:
            yield diagnose(
                "launch.block-limit",
                f"block.{axis} is {size}: a block has at least 1 thread in every dimension",
                help=f"give block.{axis} a size from 1 to {most}",
            )
        elif size > most and block.volume <= arch.max_threads_per_block:
            yield diagnose(
                "launch.block-limit",
                f"block.{axis} is {size}, more than the {most} threads that {arch.name} takes in {axis}",
                help="use another dimension of the block; its threads number as before, x first",
            )
    if min(block) >= 1 and block.volume > arch.max_threads_per_block:
        sizes = "*".join(str(size) for size in block)
        yield diagnose(
            "launch.threads-per-block",
            f"{sizes} = {block.volume} threads in a block, more than the {arch.max_threads_per_block} of {arch.name}: "
            "the kernel does not start",
            help=f"use a smaller block (at most {arch.max_threads_per_block} threads) and more blocks",
        )


def _grid_findings(grid: Dim3, arch: Arch) -> Iterator[Diagnostic]:
    for axis, size, most in zip("xyz", grid, arch.max_grid, strict=True):
        if size < 1:
            yield diagnose(
                "launch.grid-limit",
                f"grid.{axis} is {size}: a grid has at least 1 block in every dimension",
                help="n // block rounds down; use ceil_div(n, block) so that the last, partial block is counted",
            )
        elif size > most:
            yield diagnose(
                "launch.grid-limit",
                f"grid.{axis} is {size}, more than the {most} blocks that {arch.name} takes in {axis}",
                help=f"put the long direction in x (up to {arch.max_grid[0]} blocks) or loop with a grid stride",
            )


def _shared_findings(config: LaunchConfig, arch: Arch, static_bytes: int) -> Iterator[Diagnostic]:
    if config.shared_bytes < 0:
        yield diagnose(
            "launch.shared-limit",
            f"shared_bytes is {config.shared_bytes}: a size in bytes is 0 or more",
            help="leave shared_bytes out when the kernel has no `extern __shared__` array",
        )
        return
    dynamic = max(config.shared_bytes, config.max_dynamic_shared or 0)
    total = static_bytes + dynamic
    parts = f"{dynamic} bytes dynamic" + (f" + {static_bytes} static" if static_bytes else "")
    if total > arch.max_shared_bytes_per_block:
        yield diagnose(
            "launch.shared-limit",
            f"{total} bytes of shared memory in a block ({parts}), more than the {arch.max_shared_bytes_per_block} "
            f"that {arch.name} can give",
            help="use a smaller tile, fewer stages, or a smaller element type",
        )
    elif config.max_dynamic_shared is None and total > arch.default_shared_bytes_per_block:
        yield diagnose(
            "launch.shared-limit",
            f"{total} bytes of shared memory in a block ({parts}), more than the default limit of "
            f"{arch.default_shared_bytes_per_block}: max_dynamic_shared_size_bytes is not set on the kernel",
            help=f"set max_dynamic_shared_size_bytes to {config.shared_bytes} first (up to "
            f"{arch.max_shared_bytes_per_block - static_bytes} on {arch.name}), or use a smaller tile",
        )
    elif config.max_dynamic_shared is not None and config.shared_bytes > config.max_dynamic_shared:
        yield diagnose(
            "launch.shared-limit",
            f"{config.shared_bytes} bytes of dynamic shared memory, more than the {config.max_dynamic_shared} that "
            "max_dynamic_shared_size_bytes allows this kernel",
            help=f"raise max_dynamic_shared_size_bytes to {config.shared_bytes}",
        )


def _register_findings(block: Dim3, arch: Arch, registers: int | None) -> Iterator[Diagnostic]:
    if registers is None or not 1 <= block.volume <= arch.max_threads_per_block:
        return
    needed = registers_of_block(arch, registers=registers, threads=block.volume)
    if needed > arch.registers_per_block:
        most = max_threads_with(arch, registers=registers)
        yield diagnose(
            "launch.registers",
            f"{registers} registers a thread * {block.volume} threads take {needed} registers, more than the "
            f"{arch.registers_per_block} of a block on {arch.name}: too many resources requested for launch",
            help=f"launch at most {most} threads, or put __launch_bounds__({block.volume}) on the kernel so that the "
            "compiler uses fewer registers",
        )


def with_declared_cluster(
    config: LaunchConfig, declared: Sequence[int] | None
) -> tuple[LaunchConfig, tuple[Diagnostic, ...]]:
    """The launch with the cluster of the kernel's `__cluster_dims__`, and what is wrong when it names another one itself."""
    if not declared:
        return config, ()
    cluster = Dim3.of(declared)
    found: tuple[Diagnostic, ...] = ()
    if config.cluster is not None and config.cluster != cluster:
        found = (
            diagnose(
                "launch.cluster",
                f"cluster is {config.cluster}, but the kernel declares __cluster_dims__{cluster}: it does not start",
                help="leave cluster out of the launch, or declare the same size",
            ),
        )
    return replace(config, cluster=cluster), found


def _cluster_findings(config: LaunchConfig, arch: Arch) -> Iterator[Diagnostic]:
    cluster = config.cluster
    if cluster is None:
        return
    if min(cluster) < 1:
        yield diagnose(
            "launch.cluster",
            f"cluster is {cluster}: it has at least 1 block in every dimension",
            help="leave cluster out for a launch without clusters",
        )
    elif cluster.volume > arch.max_cluster_blocks:
        without = arch.max_cluster_blocks == 1
        yield diagnose(
            "launch.cluster",
            f"a cluster of {cluster.volume} blocks; {arch.name} "
            + ("has no clusters" if without else f"takes at most {arch.max_cluster_blocks} in a portable launch"),
            help="clusters need sm_90 or newer"
            if without
            else f"use {arch.max_cluster_blocks} blocks or fewer; up to {NON_PORTABLE_BLOCKS} need "
            "cudaFuncAttributeNonPortableClusterSizeAllowed, and GPUs that have them all free at once",
        )
    else:
        for axis, blocks, size in zip("xyz", config.grid, cluster, strict=True):
            if blocks % size:
                yield diagnose(
                    "launch.cluster",
                    f"grid.{axis} = {blocks} is not a multiple of cluster.{axis} = {size}",
                    help=f"round grid.{axis} up to {-(-blocks // size) * size} and guard the extra blocks",
                )


def registers_of_warp(arch: Arch, registers: int) -> int:
    """Registers that a warp takes, in whole units of `register_granularity`."""
    per_thread = max(registers, arch.min_registers_per_thread)
    return round_up(per_thread * arch.warp_size, arch.register_granularity)


def registers_of_block(arch: Arch, *, registers: int, threads: int) -> int:
    """Registers that the launch check counts for a block.

    The check counts warps as if they filled every scheduler alike. Source: `cudaOccMaxBlocksPerSMRegsLimit` in
    `cuda_occupancy.h`.
    """
    warps = -(-threads // arch.warp_size)
    return registers_of_warp(arch, registers) * round_up(warps, arch.warp_schedulers)


def max_threads_with(arch: Arch, *, registers: int) -> int:
    """Largest block, in whole warps, whose registers fit."""
    warps = (
        arch.registers_per_block // registers_of_warp(arch, registers) // arch.warp_schedulers * arch.warp_schedulers
    )
    return min(warps * arch.warp_size, arch.max_threads_per_block)


def round_up(value: int, unit: int) -> int:
    """Smallest multiple of `unit` that is not below `value`."""
    return -(-value // unit) * unit
