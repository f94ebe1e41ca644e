"""Whether the operands of every instruction fit it: PTX may come from anywhere, and translation relies on what this says.

The table below has a row for each structural instruction, a letter for each operand:

    d  a register that is written, or `_`        v  a value: register, number, special register, address of a variable
    p  a predicate that is written, or `_`       q  a predicate that is read, or a number
    a  an address in brackets                    l  a label
    t  a tensor's map and a coordinate for each dimension, in brackets
    s  `_` alone, as nothing can be written
    D  as d, V as v: with `.v2`, `.v4`, `.v8` a vector of that many
    P  as d or a pair of d and p                 N  a number
    E  as d, or a vector of any number           W  as v, or a vector of any number

Instructions that only compute have their operands' types in the instruction table.
"""

from __future__ import annotations

from collections.abc import Mapping

from simt.codegen.prepare import Unsupported
from simt.isa import MalformedInstruction, UnsupportedInstruction, form_of, operands_of
from simt.isa.op import Form, Role
from simt.isa.special import SPECIAL_REGISTERS
from simt.ptx.syntax import (
    Address,
    Function,
    Immediate,
    Instruction,
    Operand,
    Pair,
    Register,
    Sink,
    Special,
    Symbol,
    Vector,
)
from simt.ptx.types import PtxType

__all__ = ["check_function", "operand_rows"]

# Name → operand letters of its forms, as ptxas takes them. Forms that differ stand under `name.modifier` or more modifiers;
# of those whose modifiers an instruction has, the first in this table counts.
_OPERANDS: dict[str, tuple[str, ...]] = {
    "mov.pred": ("pq",), "mov": ("dv",), "ld": ("Da",), "ldu": ("Da",), "st": ("aV",),
    "atom.cas": ("davv",), "atom": ("dav",), "red": ("av",),
    "cvta": ("dv",), "isspacep": ("pv",),
    "prefetch": ("a",), "prefetchu": ("a",), "discard": ("aN",), "applypriority": ("aN",),
    "bra": ("l",), "brx": ("vl",), "ret": ("",), "exit": ("",), "trap": ("",), "brkpt": ("",),
    "nanosleep": ("v",), "pmevent": ("v",), "griddepcontrol": ("",), "membar": ("",),
    "barrier.cluster": ("",), "mapa": ("dvv",), "getctarank": ("dv",), "st.async": ("aVa",), "red.async": ("ava",),
    "fence": ("", "aN"), "bar.warp": ("v",), "bar.arrive": ("vv",), "barrier.arrive": ("vv",), "bar.sync": ("v", "vv"),
    "barrier.sync": ("v", "vv"), "bar.popc": ("dvq", "dvvq"), "barrier.popc": ("dvq", "dvvq"),
    "bar.red": ("pvq", "pvvq"), "barrier.red": ("pvq", "pvvq"),
    "shfl": ("Pvvvv",), "vote.ballot": ("dqv",), "vote": ("pqv",), "match": ("Pvv",), "activemask": ("d",),
    "redux": ("dvv",), "elect": ("Pv",),
    "cp.commit_group": ("",), "cp.wait_group": ("N",), "cp.wait_all": ("",), "cp.mbarrier": ("a",),
    "cp.ca": ("aaN", "aaNv", "aaNq"), "cp.cg": ("aaN", "aaNv", "aaNq"),
    "cp.prefetch.tensor": ("t",), "cp.prefetch": ("av",), "cp.tensor.bulk_group": ("ta",),
    "cp.tensor.multicast::cluster": ("atav",), "cp.tensor": ("ata",), "cp.bulk_group": ("aav",),
    "cp.multicast::cluster": ("aavav",), "cp.bulk": ("aava",),
    "mbarrier.arrive.expect_tx.shared::cluster": ("sav",), "mbarrier.arrive.shared::cluster": ("sa", "sav"),
    "mbarrier.arrive.expect_tx": ("dav",), "mbarrier.arrive.noComplete": ("dav",), "mbarrier.arrive": ("da", "dav"),
    "mbarrier.arrive_drop.expect_tx.shared::cluster": ("sav",), "mbarrier.arrive_drop.shared::cluster": ("sa", "sav"),
    "mbarrier.arrive_drop.expect_tx": ("dav",), "mbarrier.arrive_drop.noComplete": ("dav",),
    "mbarrier.arrive_drop": ("da", "dav"), "mbarrier.init": ("av",),
    "mbarrier.inval": ("a",), "mbarrier.expect_tx": ("av",), "mbarrier.complete_tx": ("av",),
    "mbarrier.test_wait": ("pav",), "mbarrier.try_wait": ("pav", "pavv"), "mbarrier.pending_count": ("dv",),
    "ldmatrix": ("Ea",), "stmatrix": ("aW",), "movmatrix": ("dv",), "mma": ("EWWW",), "wmma.load": ("Ea", "Eav"),
    "wmma.store": ("aW", "aWv"), "wmma.mma": ("EWWW",), "wgmma.fence": ("",), "wgmma.commit_group": ("",),
    "setmaxnreg": ("N",), "wgmma.wait_group": ("N",), "wgmma.mma_async": ("EWvq", "EWvqNN", "EWvqNNN", "EWvqNNNN"),
}  # fmt: skip
_FORMS = {
    name: [(frozenset(key.split(".")[1:]), rows) for key, rows in _OPERANDS.items() if key.startswith(f"{name}.")]
    for name in {key.partition(".")[0] for key in _OPERANDS}
}
_RANKS = {f"{rank}d": rank for rank in range(1, 6)}
_COUNTS = {"v2": 2, "v4": 4, "v8": 8}
_WORDS = {
    "d": "a register to write", "D": "a register to write", "p": "a predicate to write", "q": "a predicate",
    "v": "a value", "V": "a value", "a": "an address", "l": "a label", "P": "a register to write", "N": "a number",
    "E": "registers to write", "W": "values", "s": "`_`",
    "t": "a tensor's map with a coordinate for each dimension",
}  # fmt: skip

Registers = Mapping[str, PtxType]


def check_function(function: Function) -> None:
    """Raises `Unsupported` at the first instruction whose operands do not fit it."""
    for item in function.body or ():
        if isinstance(item, Instruction):
            _check(item, function.registers)


def _check(instruction: Instruction, registers: Registers) -> None:
    guard = instruction.guard
    if guard is not None and not _is_predicate(guard.register, registers):
        raise Unsupported(f"`{instruction.opcode}` under `{guard.register}`, which is no predicate", instruction)
    try:
        form = form_of(instruction)
        if form.op.role is Role.PURE:
            return _check_computing(instruction, form, registers)
    except (UnsupportedInstruction, MalformedInstruction) as error:
        raise Unsupported(str(error), instruction) from None
    rows = operand_rows(instruction)
    if rows and not any(_fits(instruction, row, registers) for row in rows):
        wanted = " or ".join(", ".join(_WORDS[letter] for letter in row) or "nothing" for row in rows)
        raise Unsupported(f"the operands of `{instruction.opcode}` do not fit: it takes {wanted}", instruction)


def operand_rows(instruction: Instruction) -> tuple[str, ...]:
    """Letters of the operands that it takes, one text for each way to write it; none for one that only computes."""
    has = frozenset(instruction.mods)
    rows = next((rows for mods, rows in _FORMS.get(instruction.name, ()) if mods <= has), None)
    if rows is None:
        rows = _OPERANDS.get(instruction.name, ())
    return tuple(row + "v" for row in rows) if "L2::cache_hint" in instruction.mods else rows


def _fits(instruction: Instruction, row: str, registers: Registers) -> bool:
    operands = instruction.operands
    if len(operands) != len(row):
        return False
    count = next((_COUNTS[mod] for mod in instruction.mods if mod in _COUNTS), 1)
    rank = next((_RANKS[mod] for mod in instruction.mods if mod in _RANKS), 0)
    return all(
        _is_tile(operand, rank, registers) if letter == "t" else _is(letter, operand, count, registers)
        for letter, operand in zip(row, operands, strict=True)
    )


def _is_tile(operand: Operand, rank: int, registers: Registers) -> bool:
    """Whether these brackets hold a map's address and then a vector of `rank` coordinates."""
    match operand:
        case Address(base, offset, (Vector(items),)):
            fits = _is("a", Address(base, offset), 1, registers) and all(_is("v", item, 1, registers) for item in items)
            return fits and len(items) == rank
    return False


def _is(letter: str, operand: Operand, count: int, registers: Registers) -> bool:
    if letter in "EW":
        items = operand.items if isinstance(operand, Vector) else (operand,)
        return all(_is("d" if letter == "E" else "v", item, 1, registers) for item in items)
    if letter in "DV":
        if count == 1:
            return _is(letter.lower(), operand, 1, registers)
        items = operand.items if isinstance(operand, Vector) else ()
        return len(items) == count and all(_is(letter.lower(), item, 1, registers) for item in items)
    match operand:
        case Register(name, negated):
            if _is_predicate(name, registers):
                return letter == "q" or (letter == "p" and not negated)
            return letter == "v" or (letter in "dP" and not negated)
        case Sink():
            return letter in "dpPs"
        case Pair(first, second):
            return letter == "P" and _is("d", first, 1, registers) and _is("p", second, 1, registers)
        case Immediate(kind="int"):
            return letter in "vqN"
        case Special(name):
            kind = SPECIAL_REGISTERS.get(name)
            return letter == ("q" if kind is not None and kind.bits == 1 else "v")
        case Immediate():
            return letter == "v"
        case Symbol():
            return letter in "vl"
        case Address(Register(name)):
            return letter == "a" and not operand.extra and not _is_predicate(name, registers)
        case Address():
            return letter == "a" and not operand.extra
    return False


def _is_predicate(name: str, registers: Registers) -> bool:
    return name in registers and registers[name].bits == 1


def _check_computing(instruction: Instruction, form: Form, registers: Registers) -> None:
    """Holds operands against the types that the instruction table gives them; the carry flag is no operand."""
    assert form.op.shape is not None
    shape = form.op.shape(form)
    results, sources = operands_of(instruction, form)
    for operand, kind in zip(results, shape.results):
        if not _is("p" if kind.bits == 1 else "d", operand, 1, registers):
            raise Unsupported(f"`{instruction.opcode}` cannot write {_said(operand)}", instruction)
    for operand, kind in zip(sources, shape.sources):
        if not _is("q" if kind.bits == 1 else "v", operand, 1, registers):
            raise Unsupported(f"`{instruction.opcode}` cannot read {_said(operand)}", instruction)


def _said(operand: Operand) -> str:
    return (
        f"`{operand.name}`"
        if isinstance(operand, Register | Special | Symbol)
        else f"a {type(operand).__name__.lower()}"
    )
