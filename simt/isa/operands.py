"""Which form an instruction is, where the opcode alone does not say, and which operands are results and sources.

A few opcodes mean different things by their operands: `mov` packs, unpacks, reads a special register or takes an
address; `min` and `max` take two or three sources; `setp` may write two predicates. The table holds such forms under
names of their own, such as `mov.b64.pack2` or `setp.lt.s32.pair`, which PTX text cannot spell.
"""

from __future__ import annotations

from simt.isa.op import Form, Role
from simt.isa.table import INTERNAL, UnsupportedInstruction, lookup
from simt.ptx.syntax import Instruction, Operand, Pair, Register, Special, Symbol, Vector

__all__ = ["MalformedInstruction", "form_of", "operands_of"]


class MalformedInstruction(ValueError):
    """An instruction whose operands do not fit its opcode."""

    def __init__(self, instruction: Instruction, why: str):
        self.instruction = instruction
        super().__init__(f"`{instruction.opcode}` (PTX line {instruction.ptx_line}) {why}")


def _of_mov(instruction: Instruction) -> str:
    if len(instruction.operands) != 2:
        raise MalformedInstruction(instruction, f"takes 2 operands, got {len(instruction.operands)}")
    result, source = instruction.operands
    if isinstance(result, Vector):
        return f".unpack{len(result.items)}"
    if isinstance(source, Vector):
        return f".pack{len(source.items)}"
    return ".special" if isinstance(source, Special) else ".address" if isinstance(source, Symbol) else ""


def _suffix(instruction: Instruction) -> str:
    operands = instruction.operands
    if instruction.name == "mov":
        return _of_mov(instruction)
    if instruction.name == "setp":
        return ".pair" if operands and isinstance(operands[0], Pair) else ""
    if instruction.name in ("min", "max"):
        return ".three" if len(operands) == 4 else ""
    return ""


def form_of(instruction: Instruction) -> Form:
    """The form that an instruction is; raises `UnsupportedInstruction` or `MalformedInstruction`."""
    if not INTERNAL.isdisjoint(instruction.mods):
        raise UnsupportedInstruction(instruction.opcode, ())
    form = lookup(instruction.opcode + _suffix(instruction))
    if form.op.role is Role.PURE:
        operands_of(instruction, form)
    return form


def _flat(operand: Operand) -> tuple[Operand, ...]:
    if isinstance(operand, Vector):
        return operand.items
    return (operand.first, operand.second) if isinstance(operand, Pair) else (operand,)


def operands_of(instruction: Instruction, form: Form) -> tuple[tuple[Operand, ...], tuple[Operand, ...]]:
    """(results, sources) of a pure form as its `Shape` orders them, less the carry flag, which no operand names."""
    assert form.op.shape is not None, f"{form.opcode} is not pure"
    shape = form.op.shape(form)
    results = _flat(instruction.operands[0]) if instruction.operands else ()
    sources = tuple(item for operand in instruction.operands[1:] for item in _flat(operand))
    n_results, n_sources = len(shape.results) - shape.carry_out, len(shape.sources) - shape.carry_in
    if len(results) != n_results or len(sources) != n_sources:
        got = f"got {len(results)} and {len(sources)}"
        raise MalformedInstruction(instruction, f"takes {n_results} result(s) and {n_sources} source(s), {got}")
    if any(isinstance(result, Register) and result.negated for result in results):
        raise MalformedInstruction(instruction, "writes a negated register")
    return results, sources
