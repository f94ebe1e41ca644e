"""How an opcode's test row is written: `rows("add.s32", "2147483647 1 = -2147483648")`.

Left of `=` stand the sources, right of it the results, each read as its operand's type: an integer in decimal or `0x`
bits; a float as a literal, as `0x` bits or by name (`inf nan max min tiny`, of which `min` is the smallest normal number
and `tiny` the smallest of all); a predicate as T or F. A 16-bit float may stand for itself in a bit type (`h1.0`, `b1.0`
are 1.0 in f16 and bf16). Expected values come from the PTX ISA, and every row holds on an H200 as well.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

from simt.isa import lookup
from simt.ptx.types import Kind, PtxType

__all__ = ["Row", "bits_of", "rows"]

_DIGITS = {16: (5, 10), 32: (8, 23), 64: (11, 52)}


@dataclass(frozen=True, slots=True)
class Row:
    """One case of an opcode; values are the bits of its operands as Python integers."""

    opcode: str
    text: str
    sources: tuple[int, ...]
    results: tuple[int, ...]


def _named_float(name: str, bits: int) -> int | None:
    exponent, mantissa = _DIGITS[bits]
    top = (1 << exponent) - 1
    return {
        "inf": top << mantissa,
        "nan": (1 << bits - 1) - 1,
        "max": (top << mantissa) - 1,
        "min": 1 << mantissa,
        "tiny": 1,
    }.get(name)


def _float_bits(token: str, bits: int) -> int:
    negative, name = token.startswith("-"), token.removeprefix("-")
    known = _named_float(name, bits)
    if known is not None:
        return known | negative << bits - 1
    dtype = np.dtype(f"float{bits}")
    return int(np.array(float(token), dtype).view(f"uint{bits}"))


def bits_of(token: str, type_: PtxType) -> int:
    """The bits that a token means for an operand of a type."""
    if type_.kind is Kind.PRED:
        return {"T": 1, "F": 0}[token]
    if token.startswith("h"):
        return _float_bits(token[1:], 16)
    if token.startswith("b"):
        return struct.unpack("I", struct.pack("f", float(token[1:])))[0] >> 16
    if token.startswith("f"):
        return _float_bits(token[1:], 32)
    if type_.kind is Kind.FLOAT and not token.startswith("0x"):
        return _float_bits(token, type_.bits)
    value = int(token, 0)
    assert -(1 << type_.bits - 1) <= value < 1 << type_.bits, (token, type_.name)
    return value & (1 << type_.bits) - 1


def rows(opcodes: str, *cases: str) -> tuple[Row, ...]:
    """A row for each of the opcodes, which share them, and each case."""
    made = []
    for opcode in opcodes.split():
        form = lookup(opcode)
        shape = form.op.shape(form)
        for case in cases:
            left, right = (side.split() for side in case.split("="))
            sources = tuple(bits_of(token, type_) for token, type_ in zip(left, shape.sources, strict=True))
            results = tuple(bits_of(token, type_) for token, type_ in zip(right, shape.results, strict=True))
            made.append(Row(opcode, case, sources, results))
    return tuple(made)
