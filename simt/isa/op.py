"""One row of the instruction table: an opcode family's forms, meaning and translation side by side.

A row is *pure* when it only maps source values to result values; then `eval` and `emit` share one signature:

    eval(form, *sources) -> ndarray | tuple      sources and results are (32,) arrays of the operand's dtype
    emit(e, form, *sources) -> ir.Value | tuple  sources and results are LLVM values of the operand's type: <32 x T>
                                                 vectors, or scalars T where the values are uniform (all alike)

Operands reach both already converted to the type the form gives them (float for f32, integer for b/u/s, bool for a
predicate; f16 as half / float16, bf16 and packed types as their bits), and results are converted back by the caller.
Rows that touch memory, control flow or other lanes are not pure: their translation lives with the engine.
"""

from __future__ import annotations

import enum
import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from simt.ptx.types import TYPES, PtxType

__all__ = ["Form", "Op", "Role", "Shape", "expand", "forms_of"]


class Role(enum.StrEnum):
    """Which part of the machine carries a row out."""

    PURE = "pure"
    SPECIAL = "special"  # reads a special register
    MEMORY = "memory"  # ld st atom red
    CONTROL = "control"  # bra call ret exit trap
    WARP = "warp"  # shfl vote match activemask
    BARRIER = "barrier"
    ASYNC = "async"
    MATRIX = "matrix"
    NONE = "none"  # nothing to do: hints such as prefetch


@dataclass(frozen=True, slots=True)
class Shape:
    """Types of a pure form's operands, results first.

    With `carry_in` the last source is the carry flag, with `carry_out` the last result is: a predicate that no operand
    names, kept per lane in the implicit register "%cc".
    """

    results: tuple[PtxType, ...]
    sources: tuple[PtxType, ...]
    carry_in: bool = False
    carry_out: bool = False


@dataclass(frozen=True, slots=True)
class Op:
    """A row of the table.

    Attributes:
        name: first part of the opcode, `add`.
        forms: opcode patterns; `{a,b}` is one of, `{.sat}` or `{.rn,.rz}` optional, expanded by `expand`.
        role: the part of the machine that carries it out.
        shape: for pure rows, form -> `Shape`.
        eval, emit: for pure rows, as the module says.
        since: (PTX version, sm) it appeared in, such as ("1.0", 0).
        section: heading in the PTX ISA manual.
        note: a known gap, or "".
        ulp: 0 when results are bit-exact; else the bound of an `.approx` form in ulp, negative 2's exponent (-21 means
            an absolute error of 2**-21) for those whose bound is absolute.
    """

    name: str
    forms: tuple[str, ...]
    role: Role = Role.PURE
    shape: Callable[[Form], Shape] | None = None
    eval: Callable | None = None
    emit: Callable | None = None
    since: tuple[str, int] = ("1.0", 0)
    section: str = ""
    note: str = ""
    ulp: Callable[[Form], float] | None = None


@dataclass(frozen=True, slots=True)
class Form:
    """One exact opcode of a row, `add.rn.ftz.f32`, taken apart."""

    opcode: str
    op: Op
    mods: tuple[str, ...]
    types: tuple[PtxType, ...]

    @property
    def type(self) -> PtxType:
        """The first type named: the operation type (of `cvt` and `set` the result type)."""
        return self.types[0]

    def has(self, modifier: str) -> bool:
        return modifier in self.mods


_GROUP = re.compile(r"\{([^{}]*)\}")


def expand(pattern: str) -> Iterator[str]:
    """Every opcode a pattern stands for.

    `{s32,u32}` is one of; a group whose items start with a dot is optional: `{.sat}` gives "" and ".sat".
    """
    parts = _GROUP.split(pattern)
    choices = []
    for index, part in enumerate(parts):
        if index % 2 == 0:
            choices.append((part,))
        else:
            items = tuple(part.split(","))
            choices.append(("", *items) if items[0].startswith(".") else items)
    for combination in itertools.product(*choices):
        yield "".join(combination)


def forms_of(op: Op) -> Iterator[Form]:
    """The exact forms of a row."""
    for pattern in op.forms:
        for opcode in expand(pattern):
            mods = tuple(opcode.split(".")[1:])
            yield Form(opcode, op, mods, tuple(TYPES[m] for m in mods if m in TYPES))
