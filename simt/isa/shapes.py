"""Shapes that many rows share, and words that spell their opcode patterns."""

from __future__ import annotations

from collections.abc import Callable

from simt.isa.op import Form, Shape
from simt.ptx.types import TYPES, PtxType

__all__ = ["INTS", "PRED", "U32", "double", "of", "same", "widened"]

PRED, U32 = TYPES["pred"], TYPES["u32"]
INTS = "{u16,u32,u64,s16,s32,s64}"


def of(result: str, *sources: str) -> Callable[[Form], Shape]:
    """A shape that does not depend on the form, by names of types."""
    fixed = Shape((TYPES[result],), tuple(TYPES[name] for name in sources))
    return lambda form: fixed


def same(n_sources: int) -> Callable[[Form], Shape]:
    """One result and `n_sources` sources, all of the operation's type."""
    return lambda form: Shape((form.type,), (form.type,) * n_sources)


def double(type_: PtxType) -> PtxType:
    """The integer type of the same kind and twice the width."""
    return TYPES[f"{type_.kind}{2 * type_.bits}"]


def widened(*wide: bool) -> Callable[[Form], Shape]:
    """A result of twice the width, and sources of the operation's type, twice as wide where `wide` says so."""

    def shape(form: Form) -> Shape:
        return Shape((double(form.type),), tuple(double(form.type) if w else form.type for w in wide))

    return shape
