"""Launching a kernel with parameters that CuPy does not pass by value: structures, tensor maps among them."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np

from simt.launch import LaunchConfig

__all__ = ["by_value", "start_by_address"]


def by_value(values: Sequence[object]) -> bool:
    """Whether one of the values is a structure."""
    return any(isinstance(value, (bytes, np.void)) for value in values)


def start_by_address(cp, function, config: LaunchConfig, values: Sequence[object]) -> None:
    """Queues one launch on the current stream through cuLaunchKernel, which copies each parameter from where it is told.

    Args:
        cp: CuPy.
        function: a kernel of a module that CuPy loaded.
        config: grid, block and shared memory.
        values: bytes, NumPy scalars, or plain numbers of 8 bytes, one for each parameter.
    """
    raw = [value if isinstance(value, bytes) else np.asarray(value).tobytes() for value in values]
    kept = [ctypes.create_string_buffer(part, len(part)) for part in raw]
    table = (ctypes.c_void_p * max(len(kept), 1))(*(ctypes.addressof(part) for part in kept))
    stream = cp.cuda.get_current_stream().ptr
    cp.cuda.driver.launchKernel(
        function.ptr, *config.grid, *config.block, config.shared_bytes, stream, ctypes.addressof(table), 0
    )
