"""Fresh input contents for each timed launch, the same in NumPy and in the kernel `freshen32` of `grader.timing.tools`.

The low bits of each float's mantissa are drawn again; sign, exponent and high bits stay. So every value is a new one,
yet no input leaves the range that an exercise gave it. Zeros, infinities and NaN stay, and so do integers, which may be
indices.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

__all__ = ["FLOATS", "FloatBits", "fresh_inputs", "freshened", "launch_nonce", "mixed"]

# Sebastiano Vigna's SplitMix64, https://prng.di.unimi.it/splitmix64.c: a counter-based generator.
STEP, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
WORD = 2**64
PIECE = 1 << 15  # elements; a dozen arrays of them fit into a cache of one or two MB


@dataclass(frozen=True, slots=True)
class FloatBits:
    """How a float of some width is changed: its unsigned type, exponent field, and the mantissa bits drawn again."""

    word: type
    exponent: int
    drawn: int


# By bytes; about half of each mantissa (IEEE 754: 10, 23 and 52 bits).
FLOATS = {
    2: FloatBits(np.uint16, 0x7C00, 0x1F),
    4: FloatBits(np.uint32, 0x7F80_0000, 0xFFF),
    8: FloatBits(np.uint64, 0x7FF0_0000_0000_0000, 0x3FF_FFFF),
}


def mixed(counters: np.ndarray) -> np.ndarray:
    """(n,) uint64, SplitMix64's output for each state."""
    with np.errstate(over="ignore"):
        z = (counters ^ (counters >> np.uint64(30))) * np.uint64(FIRST)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(SECOND)
        return z ^ (z >> np.uint64(31))


def launch_nonce(nonce: int, copy: int, argument: int) -> int:
    """The start of the counter for one argument of one copy of a sample."""
    return int(mixed(np.array([(nonce + STEP * (1 + copy * 64 + argument)) % WORD], np.uint64))[0])


def freshened(array: np.ndarray, nonce: int) -> np.ndarray:
    """`array` with the low mantissa bits of its floats drawn again; other types as they are."""
    if array.dtype.kind != "f":
        return array
    bits = FLOATS[array.dtype.itemsize]
    words: np.ndarray = np.array(array).reshape(-1).view(bits.word)
    with np.errstate(over="ignore"):
        # Piece by piece, so that what lies between stays in the processor's cache: three times as fast.
        offsets = np.arange(min(PIECE, words.size), dtype=np.uint64) * np.uint64(STEP)
        for start in range(0, words.size, PIECE):
            piece = words[start : start + PIECE]
            first = np.uint64((nonce + start * STEP) % WORD)
            _draw_again(piece, mixed(first + offsets[: piece.size]).astype(bits.word), bits)
    return words.view(array.dtype).reshape(array.shape)


def _draw_again(words: np.ndarray, drawn: np.ndarray, bits: FloatBits) -> None:
    """Sets the low bits of `words` to those of `drawn`, except where the exponent is all zeros or all ones."""
    exponent = words & bits.word(bits.exponent)
    special = (exponent == 0) | (exponent == bits.exponent)
    mask = np.where(special, bits.word(0), bits.word(bits.drawn))
    words ^= (words ^ drawn) & mask


def fresh_inputs(inputs: Mapping[str, object], names: tuple[str, ...], nonce: int, copy: int) -> dict[str, object]:
    """The inputs of one launch; `names` are the arrays that change, in the order of the kernel's arguments."""
    changed = dict(inputs)
    for index, name in enumerate(names):
        value = inputs[name]
        assert isinstance(value, np.ndarray)
        changed[name] = freshened(value, launch_nonce(nonce, copy, index))
    return changed
