"""Any instruction of the table with operands of the right kinds but no sense, sometimes one too few or of a wrong kind."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from simt.codegen.well_formed import operand_rows
from simt.isa.op import Op, Role
from simt.isa.table import INTERNAL, ROWS, lookup
from simt.ptx.syntax import Instruction

__all__ = ["any_instruction"]

Choose = Callable[[], str]  # makes one operand
_GROUP = re.compile(r"\{([^{}]*)\}")
_RANK = re.compile(r"[1-5]d")
_WIDTHS = {"v2": 2, "v4": 4, "v8": 8}
_STRUCTURAL = tuple(row for row in ROWS if row.role is not Role.PURE and row.name != "call")
_COMPUTING = tuple(row for row in ROWS if row.role is Role.PURE)
_SHARE_STRUCTURAL = 0.8  # the others have fewer ways to go wrong
_STEMS = {1: "p", 16: "rs", 32: "r", 64: "rd"}  # of registers, by their bits


def _opcode(rng: random.Random, row: Op) -> str:
    """One form of a row, each choice in its pattern made at random."""

    def pick(group: re.Match[str]) -> str:
        items = group[1].split(",")
        return rng.choice(["", *items] if items[0].startswith(".") else items)

    return _GROUP.sub(pick, rng.choice(row.forms))


def any_instruction(rng: random.Random, register: Callable[[str], str], number: Choose) -> str:
    """One instruction; `register` gives a register for `rd`, `r`, `f`, `p` or `rs`, `number` a literal."""
    row = rng.choice(_STRUCTURAL if rng.random() < _SHARE_STRUCTURAL else _COMPUTING)
    opcode = _opcode(rng, row)
    mods = tuple(opcode.split(".")[1:])
    if not INTERNAL.isdisjoint(mods):
        return "ret;"
    makers = _makers(rng, register, number, mods)
    if row.role is Role.PURE:
        operands = _computed(row, opcode, register)
    else:
        letters = rng.choice(operand_rows(Instruction(opcode, row.name, mods, ())))
        operands = [makers[letter]() for letter in letters]
    if rng.random() < 0.3:
        _spoil(rng, operands, makers)
    guard = rng.choice(("", "", "", f"@{register('p')} "))
    return f"{guard}{opcode} {', '.join(operands)};"


def _computed(row: Op, opcode: str, register: Callable[[str], str]) -> list[str]:
    """Registers for an instruction that only computes: the shape of its form tells how wide."""
    assert row.shape is not None
    shape = row.shape(lookup(opcode))
    return [register(_STEMS.get(kind.bits, "r")) for kind in (*shape.results, *shape.sources)]


def _spoil(rng: random.Random, operands: list[str], makers: dict[str, Choose]) -> None:
    other = makers[rng.choice(sorted(makers))]()
    at = rng.randrange(len(operands) + 1)
    operands[at : at + rng.choice((0, 1))] = rng.choice(([], [other], [other, other]))


def _makers(
    rng: random.Random, register: Callable[[str], str], number: Choose, mods: tuple[str, ...]
) -> dict[str, Choose]:
    """For each letter of the operand table how to make such an operand."""
    width = next((_WIDTHS[mod] for mod in mods if mod in _WIDTHS), 1)
    rank = next((int(mod[0]) for mod in mods if _RANK.fullmatch(mod)), 2)

    def written() -> str:
        return register(rng.choice(("rd", "r", "f", "rs")))

    def value() -> str:
        return rng.choice((written, written, number, lambda: rng.choice(("%tid.x", "%laneid", "%clock64"))))()

    def address() -> str:
        return f"[{register(rng.choice(('rd', 'r')))}{rng.choice(('', '', '+16', '+-4'))}]"

    def vector(item: Choose, count: int) -> str:
        return item() if count == 1 else f"{{{', '.join(item() for _ in range(count))}}}"

    def several() -> int:
        return rng.choice((1, 2, 4, 8))

    def predicate() -> str:
        return rng.choice(("", "!")) + register("p")

    return {
        "d": written, "v": value, "a": address, "N": number, "p": lambda: register("p"), "q": predicate, "s": lambda: "_",
        "l": lambda: "$nowhere", "D": lambda: vector(written, width), "V": lambda: vector(value, width),
        "E": lambda: vector(written, several()), "W": lambda: vector(value, several()),
        "P": lambda: f"{written()}|{register('p')}" if rng.random() < 0.5 else written(),
        "t": lambda: f"[{register('rd')}, {{{', '.join(value() for _ in range(rank))}}}]",
    }  # fmt: skip
