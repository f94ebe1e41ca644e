"""Whether the grid of a cooperative launch is resident all at once, which its barrier needs."""

from __future__ import annotations

from simt.arch import Arch
from simt.diagnostics import Diagnostic, diagnose
from simt.gpus import GPUS
from simt.launch import LaunchConfig
from simt.occupancy import occupancy

__all__ = ["check_cooperative"]

ASSUMED_REGISTERS = 32  # of a thread where nothing was assembled


def check_cooperative(
    config: LaunchConfig, arch: Arch, shared_bytes: int, registers: int | None
) -> tuple[Diagnostic, ...]:
    """A cooperative grid of more blocks than the largest GPU of the architecture holds at once.

    Args:
        config: the launch; one that is not cooperative, or refused for its sizes anyway, has no finding here.
        shared_bytes: static and dynamic, of a block.
        registers: of a thread, None when they are not known.
    """
    fitting = [gpu for gpu in GPUS if gpu.arch.name == arch.name]
    threads = config.block.volume
    if not config.cooperative or not fitting or not 1 <= threads <= arch.max_threads_per_block or min(config.grid) < 1:
        return ()
    gpu = max(fitting, key=lambda product: product.sm_count)
    found = occupancy(arch, registers=registers or ASSUMED_REGISTERS, shared_bytes=shared_bytes, threads=threads)
    most = found.blocks * gpu.sm_count
    if config.grid.volume <= most:
        return ()
    return (
        diagnose(
            "launch.cooperative",
            f"{config.grid.volume} blocks in a cooperative launch; {gpu.name} holds {found.blocks} of them on each of its "
            f"{gpu.sm_count} SMs, {most} at once (limited by {' and '.join(found.limited_by)}): "
            "cudaErrorCooperativeLaunchTooLarge, the kernel does not start",
            help=f"launch at most {most} blocks and let each loop over its share of the work with a grid stride",
        ),
    )
