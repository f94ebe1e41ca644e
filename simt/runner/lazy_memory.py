"""Arrays of hundreds of MB that take memory only where a sampled block touches them.

A few MB of values are written to a file once and mapped over and over, privately: a page costs nothing until it is read
and is copied only when it is written. Where the system maps no files so, the array is filled as any other.
"""

from __future__ import annotations

import ctypes
import functools
import math
import mmap
import sys
import tempfile
import weakref
from dataclasses import replace

import numpy as np

from simt.launch_values import ArraySpec

__all__ = ["lazy_array", "repeated"]

PATTERN_BYTES = 4 << 20
SMALL_BYTES = 16 << 20  # below this an array is simply made
MAP_FIXED = 0x10  # of Linux and macOS
FAILED = ctypes.c_void_p(-1).value
_ENDLESS = ("zeros", "ones", "poison", "normal", "uniform", "randint")  # inits that look alike everywhere


def lazy_array(spec: ArraySpec) -> np.ndarray:
    """The array of a launch file; a large one of random or equal values repeats its first 4 MiB."""
    if spec.n_bytes <= SMALL_BYTES or spec.init.partition(":")[0] not in _ENDLESS:
        return spec.array()
    n_pattern = PATTERN_BYTES // spec.dtype.itemsize
    return repeated(replace(spec, shape=(n_pattern,)).array(), math.prod(spec.shape)).reshape(spec.shape)


def repeated(pattern: np.ndarray, n: int) -> np.ndarray:
    """(n,) elements: `pattern`, whose bytes fill whole pages, again and again."""
    if sys.platform not in ("linux", "darwin") or pattern.nbytes % mmap.PAGESIZE:
        return np.resize(pattern, n)
    n_bytes = n * pattern.itemsize
    reserved = -(-n_bytes // pattern.nbytes) * pattern.nbytes
    map_at, unmap = _libc()
    private, access = mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE
    base = map_at(None, reserved, access, private | mmap.MAP_ANON, -1, 0)
    if base in (None, FAILED):
        raise MemoryError(f"{reserved} bytes of address space")
    with tempfile.TemporaryFile() as file:
        file.write(pattern.tobytes())
        file.flush()
        for offset in range(0, reserved, pattern.nbytes):
            at = map_at(base + offset, pattern.nbytes, access, private | MAP_FIXED, file.fileno(), 0)
            if at != base + offset:
                raise OSError(ctypes.get_errno(), "mmap")
    area = (ctypes.c_uint8 * n_bytes).from_address(base)
    weakref.finalize(area, unmap, base, reserved)  # views keep the area alive
    return np.frombuffer(memoryview(area), pattern.dtype)


@functools.cache
def _libc():
    """mmap and munmap of the C library."""
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype = ctypes.c_void_p
    library.mmap.argtypes = (
        ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int64,
    )  # fmt: skip
    library.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    return library.mmap, library.munmap
