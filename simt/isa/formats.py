"""The 16-bit floats and their packed pairs: to and from wider floats, with one rounding, in NumPy and in LLVM IR.

A 16-bit operand reaches a row as float16 (half) when its type is f16, else as its bits: bf16 in 16 of them, a pair in 32.
"""

from __future__ import annotations

import numpy as np

from simt.isa.rounding import CANONICAL, emit_canonical, emit_odd, odd_float32
from simt.ptx.types import PtxType

__all__ = [
    "decode",
    "emit_bf16",
    "emit_decode",
    "emit_encode",
    "emit_join",
    "emit_split",
    "encode",
    "is_bf16",
    "is_pair",
    "join",
    "split",
    "to_bf16",
]

_NAN = CANONICAL[16]


def is_pair(type_: PtxType) -> bool:
    """Whether a type packs two values into 32 bits."""
    return type_.name.endswith("x2")


def is_bf16(type_: PtxType) -> bool:
    """Whether a type is bf16, alone or packed."""
    return type_.name.startswith("bf16")


def split(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(low, high) uint16 of a packed pair."""
    return (a & 0xFFFF).astype(np.uint16), (a >> 16).astype(np.uint16)


def join(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The packed pair of two arrays of 16-bit values."""
    return low.view(np.uint16).astype(np.uint32) | high.view(np.uint16).astype(np.uint32) << 16


def emit_split(e, a):
    """LLVM of `split`: (low, high) halves of each lane's pair."""
    return e.halves(a)


def emit_join(e, low, high):
    """LLVM of `join`."""
    return e.joined(low, high)


def decode(type_: PtxType, a: np.ndarray) -> np.ndarray:
    """The value of f16 or bf16 operands as float64."""
    if is_bf16(type_):
        return (a.view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return a.view(np.float16).astype(np.float64)


def to_bf16(a: np.ndarray, mode: str = "rn") -> np.ndarray:
    """Float64 rounded once to the uint16 bits of bf16."""
    bits = odd_float32(a).view(np.uint32).astype(np.uint64)
    negative = bits >> 31 == 1
    even = 0x7FFF + (bits >> 16 & 1)
    added = {"rn": even, "rz": 0, "rp": np.where(negative, 0, 0xFFFF), "rm": np.where(negative, 0xFFFF, 0)}[mode]
    return np.where(np.isnan(a), _NAN, bits + np.asarray(added, np.uint64) >> 16).astype(np.uint16)


def encode(type_: PtxType, a: np.ndarray) -> np.ndarray:
    """Float64 rounded to nearest f16 or bf16, in the dtype of a scalar operand, with the canonical NaN."""
    if is_bf16(type_):
        return to_bf16(a)
    with np.errstate(over="ignore"):
        half = a.astype(np.float16)
    return np.where(np.isnan(a), np.array(_NAN, np.uint16).view(np.float16), half)


def emit_decode(e, type_: PtxType, a):
    """A scalar operand as the float that its row computes in: half for f16, float for bf16."""
    if is_bf16(type_):
        return e.of_bits(e.shl(e.zext(a, 32), 16))
    return e.of_bits(a) if is_pair(type_) else a


def emit_bf16(e, a, mode: str = "rn"):
    """`to_bf16` in IR, of float or double."""
    if e.width(a) == 64:
        a = emit_odd(e, a)
    bits = e.bits(a)
    added = {
        "rn": lambda: e.add(e.and_(e.lshr(bits, 16), 1), 0x7FFF),
        "rz": lambda: e.const(bits, 0),
        "rp": lambda: e.and_(e.not_(e.ashr(bits, 31)), 0xFFFF),
        "rm": lambda: e.and_(e.ashr(bits, 31), 0xFFFF),
    }[mode]()
    rounded = e.trunc(e.lshr(e.add(bits, added), 16), 16)
    return e.select(e.is_nan(a), _NAN, rounded)


def emit_encode(e, type_: PtxType, a):
    """`encode` in IR, of half, float or double."""
    if is_bf16(type_):
        return emit_bf16(e, a)
    if e.width(a) == 64:
        a = emit_odd(e, a)
    half = emit_canonical(e, a if e.width(a) == 16 else e.fptrunc(a, 16))
    return e.bits(half) if is_pair(type_) else half
