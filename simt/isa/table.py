"""Every row of the instruction table, and the way from an opcode to its form.

`lookup` answers for one opcode without expanding the table; `TABLE` is the whole of it as a mapping.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import islice

from simt.isa import (
    approx,
    async_copy,
    atomics,
    barrier,
    bits,
    carry,
    cluster,
    compare,
    control,
    convert,
    floating,
    half,
    integer,
    logic,
    matrix,
    memory,
    move,
    narrow,
    packed,
    special,
    warp,
)
from simt.isa.op import Form, Op, forms_of
from simt.ptx.types import TYPES

__all__ = ["FAMILIES", "INTERNAL", "ROWS", "TABLE", "UnsupportedInstruction", "choices", "lookup"]

FAMILIES = (
    integer, carry, bits, floating, half, approx, logic, compare, move, convert, narrow,
    packed, special, memory, atomics, control, barrier, cluster, warp, async_copy, matrix,
)  # fmt: skip
# Modifiers that only the table uses, for forms that an instruction's operands tell apart (`simt.isa.operands`).
INTERNAL = frozenset({"pair", "three", "special", "address", "pack2", "pack4", "unpack2", "unpack4"})

ROWS: tuple[Op, ...] = tuple(row for family in FAMILIES for row in family.ROWS)


class UnsupportedInstruction(Exception):
    """PTX that the table has no row for; `nearest` holds known opcodes like it."""

    def __init__(self, opcode: str, nearest: tuple[str, ...]):
        self.opcode, self.nearest = opcode, nearest
        hint = f"; the nearest known: {', '.join(nearest)}" if nearest else ""
        super().__init__(f"`{opcode}` is not supported{hint} (see docs/ptx_coverage.md)")


@cache
def _rows_by_name() -> dict[str, list[Op]]:
    rows: dict[str, list[Op]] = {}
    for row in ROWS:
        rows.setdefault(row.name, []).append(row)
    return rows


@cache
def choices(pattern: str) -> tuple[tuple[str, ...], ...]:
    """A pattern as a sequence of alternatives."""
    parts = []
    for index, part in enumerate(pattern.replace("}", "{").split("{")):
        items = tuple(part.split(",")) if index % 2 else (part,)
        parts.append(("", *items) if index % 2 and items[0].startswith(".") else items)
    return tuple(parts)


def _matches(parts: tuple[tuple[str, ...], ...], text: str) -> bool:
    if not parts:
        return not text
    return any(text.startswith(item) and _matches(parts[1:], text[len(item) :]) for item in parts[0])


@cache
def lookup(opcode: str) -> Form:
    """The form called `opcode`; raises `UnsupportedInstruction`, naming the nearest known forms."""
    name, *mods = opcode.split(".")
    for row in _rows_by_name().get(name, ()):
        if any(_matches(choices(pattern), opcode) for pattern in row.forms):
            return Form(opcode, row, tuple(mods), tuple(TYPES[mod] for mod in mods if mod in TYPES))
    raise UnsupportedInstruction(opcode, _nearest(opcode, name))


def _nearest(opcode: str, name: str) -> tuple[str, ...]:
    """At most three opcodes that `opcode` may be a slip of, the likeliest first.

    Similar letters alone mean little here (`cp` and `rcp` have nothing to do with each other): a name must begin alike,
    and of a known name's forms every part must be like the opcode's, or one must be the other's beginning.
    """
    rows = _rows_by_name()
    if name not in rows:
        alike = [known for known in rows if known[0] == name[:1]]
        return tuple(difflib.get_close_matches(name, alike, 3, cutoff=0.75))
    forms = (form for row in rows[name] for form in islice(forms_of(row), 2000))
    rated = {form.opcode: _likeness(opcode, form.opcode) for form in forms if INTERNAL.isdisjoint(form.mods)}
    return tuple(sorted((known for known in rated if rated[known]), key=lambda known: -rated[known])[:3])


def _likeness(opcode: str, known: str) -> float:
    """From 0, nothing alike, to 1: the mean over the parts between dots; a beginning counts for as far as it goes."""
    given, parts = opcode.split("."), known.split(".")
    shorter, longer = sorted((given, parts), key=len)
    if len(shorter) < len(longer):
        return len(shorter) / len(longer) if longer[: len(shorter)] == shorter and len(shorter) > 1 else 0.0
    each = [_alike(one, other) for one, other in zip(given, parts, strict=True)]
    return sum(each) / len(each) if min(each) >= 0.6 else 0.0


@cache
def _alike(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, one, other).ratio()


class _Table(Mapping[str, Form]):
    """Every form by opcode; expanded only where it is iterated."""

    def __getitem__(self, opcode: str) -> Form:
        try:
            return lookup(opcode)
        except UnsupportedInstruction as missing:
            raise KeyError(opcode) from missing

    def __iter__(self) -> Iterator[str]:
        return (form.opcode for row in ROWS for form in forms_of(row))

    def __len__(self) -> int:
        return sum(1 for _ in self)


TABLE: Mapping[str, Form] = _Table()
