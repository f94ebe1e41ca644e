"""What a tile copy moves, element by element in NumPy: the expectation of the tests, written apart from the engine."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from simt.tensor_map import Fill, TensorMap

__all__ = ["loaded", "stored", "swizzled"]

MASKS = {0: 0, 1: 1, 2: 3, 3: 7}  # how many of the bits 7 to 9 of a place in shared memory change bits 4 to 6


def swizzled(place: int, swizzle: int) -> int:
    """Where the byte goes that an unswizzled tile has at `place`."""
    return place ^ (((place >> 7) & MASKS[int(swizzle)]) << 4)


def _elements(tile: TensorMap, start) -> Iterator[tuple[int, tuple[int, ...], bool]]:
    """(place in shared memory, index with the innermost dimension first, inside?) of every element of a box."""
    counts = [
        tile.box[0],
        *(-(-size // step) for size, step in zip(tile.box[1:], tile.element_strides[1:], strict=True)),
    ]
    size = tile.element.n_bytes
    pitch = max(tile.box[0] * size, tile.swizzle.span_bytes)
    for row, outer in enumerate(np.ndindex(*reversed(counts[1:]))):
        steps = zip(reversed(outer), tile.element_strides[1:], start[1:], strict=True)
        high = tuple(first + number * step for number, step, first in steps)
        for column in range(counts[0]):
            index = (start[0] + column, *high)
            inside = all(0 <= i < n for i, n in zip(index, tile.global_dim, strict=True))
            yield row * pitch + column * size, index, inside


def n_bytes(tile: TensorMap) -> int:
    """Bytes of shared memory that a box takes."""
    return max(place for place, _, _ in _elements(tile, (0,) * tile.rank)) + tile.element.n_bytes + _rest(tile)


def _rest(tile: TensorMap) -> int:
    inner = tile.box[0] * tile.element.n_bytes
    return max(inner, tile.swizzle.span_bytes) - inner


def loaded(x: np.ndarray, tile: TensorMap, start) -> np.ndarray:
    """Shared memory after a load, as (bytes, which of them were written) in one masked array."""
    out = np.ma.masked_all(n_bytes(tile), np.uint8)
    tensor = x.reshape(tuple(reversed(tile.global_dim)))
    size = tile.element.n_bytes
    outside = (b"\xf7\x7f" * 4)[:size] if tile.fill is Fill.NAN else bytes(size)
    for place, index, inside in _elements(tile, start):
        raw = tensor[tuple(reversed(index))].tobytes() if inside else outside
        for byte in range(size):
            out[swizzled(place + byte, tile.swizzle)] = raw[byte]
    return out


def stored(x: np.ndarray, shared: np.ndarray, tile: TensorMap, start, combine=lambda old, new: new) -> np.ndarray:
    """The tensor after a store, or after a reduction by `combine`."""
    out = x.copy()
    tensor = out.reshape(tuple(reversed(tile.global_dim)))
    size = tile.element.n_bytes
    for place, index, inside in _elements(tile, start):
        if inside:
            raw = bytes(shared[swizzled(place + byte, tile.swizzle)] for byte in range(size))
            at = tuple(reversed(index))
            tensor[at] = combine(tensor[at], np.frombuffer(raw, x.dtype)[0])
    return out
