"""Host memory that a launch works in: buffers, shadows, and the machine state of native threads.

With `SIMT_GUARD_PAGES=1` in the environment every piece ends before a page that nobody may touch, and begins behind one:
a native access out of range then ends the process at once, where it happens. The fuzzer runs so.
"""

from __future__ import annotations

import ctypes
import mmap
import os

import numpy as np

__all__ = ["CACHE_LINE", "GUARD_PAGES", "host_bytes", "records", "zeroed"]

CACHE_LINE = 64  # of x86-64 and most arm64; generated code stores whole vectors there
GUARD_PAGES = "SIMT_GUARD_PAGES"


def host_bytes(n_bytes: int, alignment: int = 16) -> np.ndarray:
    """(n_bytes,) uint8 of any value, aligned."""
    if os.environ.get(GUARD_PAGES) == "1":
        return _guarded(n_bytes, alignment)
    raw = np.empty(n_bytes + alignment, np.uint8)
    start = -raw.ctypes.data % alignment
    return raw[start : start + n_bytes]


def zeroed(n_bytes: int, alignment: int = CACHE_LINE) -> np.ndarray:
    """(max(n_bytes, 1),) uint8 of zeros, aligned."""
    n_bytes = max(n_bytes, 1)
    if os.environ.get(GUARD_PAGES) == "1":
        return _guarded(n_bytes, alignment)
    raw = np.zeros(n_bytes + alignment, np.uint8)
    start = -raw.ctypes.data % alignment
    return raw[start : start + n_bytes]


def records(structure: type[ctypes.Structure], count: int) -> ctypes.Array:
    """`count` zeroed records, at least one."""
    count = max(count, 1)
    return (structure * count).from_buffer(zeroed(count * ctypes.sizeof(structure)).data)


def _guarded(n_bytes: int, alignment: int) -> np.ndarray:
    """Zeroed bytes between two pages without access; at most `alignment` - 1 bytes lie unguarded at the end."""
    page = mmap.PAGESIZE
    inner = -(-max(n_bytes, 1) // page) * page
    area = mmap.mmap(-1, inner + 2 * page)
    raw = np.frombuffer(area, np.uint8)
    start = raw.ctypes.data
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    protect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for guard in (start, start + page + inner):
        if protect(guard, page, 0):
            raise OSError(ctypes.get_errno(), "mprotect")
    first = (page + inner - n_bytes) // alignment * alignment
    return raw[first : first + n_bytes]
