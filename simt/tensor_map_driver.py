"""The driver's own tensor map, for a GPU: cuTensorMapEncodeTiled through ctypes.

Runs only where a driver is; `simt` itself never needs it. Nothing but the address differs from what `simt` lays out, so a
map that `broken_rules` accepts is one that the driver encodes.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from typing import Any

from simt.tensor_map import MAP_BYTES, TensorMap

__all__ = ["DriverRefused", "encode"]

ALIGNMENT = 64  # of the encoded object
NO_INTERLEAVE = NO_PROMOTION = 0  # CUtensorMapInterleave, CUtensorMapL2promotion


class DriverRefused(RuntimeError):
    """The driver did not encode a map; the message has its CUresult."""


@functools.cache
def _driver() -> ctypes.CDLL:
    return ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")


def encode(tensor_map: TensorMap, address: int, library: Any = None) -> bytes:
    """The 128 bytes of a map over memory at a device address; a context must be current.

    Args:
        tensor_map: a map that `broken_rules` finds nothing against.
        address: where its memory starts.
        library: what has the driver's entry points; None for the installed driver.

    Raises:
        DriverRefused: the driver answers an error.
    """
    rank = tensor_map.rank
    room = (ctypes.c_uint8 * (MAP_BYTES + ALIGNMENT))()
    start = -ctypes.addressof(room) % ALIGNMENT
    sizes = (ctypes.c_uint64 * rank)(*tensor_map.global_dim)
    strides = (ctypes.c_uint64 * max(rank - 1, 1))(*tensor_map.global_stride_bytes)
    box, steps = ((ctypes.c_uint32 * rank)(*values) for values in (tensor_map.box, tensor_map.element_strides))
    result = (library or _driver()).cuTensorMapEncodeTiled(
        ctypes.c_void_p(ctypes.addressof(room) + start), ctypes.c_int(tensor_map.element.code), ctypes.c_uint32(rank),
        ctypes.c_void_p(address + tensor_map.offset_bytes), sizes, strides, box, steps, ctypes.c_int(NO_INTERLEAVE),
        ctypes.c_int(int(tensor_map.swizzle)), ctypes.c_int(NO_PROMOTION), ctypes.c_int(int(tensor_map.fill)),
    )  # fmt: skip
    if result:
        raise DriverRefused(f"cuTensorMapEncodeTiled answers CUresult {result} for {tensor_map}")
    return bytes(room)[start : start + MAP_BYTES]
