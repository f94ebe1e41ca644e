"""The scalar types of PTX: name, width, kind and the NumPy dtype that holds one."""

from __future__ import annotations

import enum
from dataclasses import dataclass

__all__ = ["TYPES", "Kind", "PtxType", "ptx_type"]


class Kind(enum.StrEnum):
    UNSIGNED = "u"
    SIGNED = "s"
    BITS = "b"
    FLOAT = "f"
    BFLOAT = "bf"
    PRED = "pred"


@dataclass(frozen=True, slots=True)
class PtxType:
    """One fundamental type (PTX ISA, "Fundamental Types"); `bits` is 1 for a predicate.

    `dtype` names the NumPy type of the interpreter: bit types use the unsigned integer, bf16 the uint16 of its bits.
    """

    name: str
    bits: int
    kind: Kind
    dtype: str

    @property
    def n_bytes(self) -> int:
        return max(1, self.bits // 8)

    @property
    def is_float(self) -> bool:
        return self.kind is Kind.FLOAT

    @property
    def is_signed(self) -> bool:
        return self.kind is Kind.SIGNED


def _integers() -> list[PtxType]:
    rows = []
    for kind, letter in ((Kind.UNSIGNED, "u"), (Kind.SIGNED, "s"), (Kind.BITS, "b")):
        stem = "int" if kind is Kind.SIGNED else "uint"
        rows += [PtxType(f"{letter}{bits}", bits, kind, f"{stem}{bits}") for bits in (8, 16, 32, 64)]
    return rows


TYPES: dict[str, PtxType] = {
    row.name: row
    for row in (
        *_integers(),
        PtxType("f16", 16, Kind.FLOAT, "float16"),
        PtxType("f32", 32, Kind.FLOAT, "float32"),
        PtxType("f64", 64, Kind.FLOAT, "float64"),
        PtxType("bf16", 16, Kind.BFLOAT, "uint16"),
        PtxType("f16x2", 32, Kind.BITS, "uint32"),
        PtxType("bf16x2", 32, Kind.BITS, "uint32"),
        PtxType("e4m3x2", 16, Kind.BITS, "uint16"),
        PtxType("e5m2x2", 16, Kind.BITS, "uint16"),
        PtxType("tf32", 32, Kind.BITS, "uint32"),
        PtxType("b128", 128, Kind.BITS, "V16"),
        PtxType("pred", 1, Kind.PRED, "bool"),
    )
}


def ptx_type(name: str) -> PtxType:
    """The type called `name`, with or without its leading dot; KeyError when PTX has none."""
    return TYPES[name.removeprefix(".")]
