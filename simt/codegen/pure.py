"""Instructions that only compute: operands in, the table's `emit`, results out."""

from __future__ import annotations

from llvmlite import ir

from simt.codegen.prepare import Unsupported
from simt.codegen.writer import Writer
from simt.isa import UnsupportedInstruction, lookup
from simt.isa.op import Form, Role
from simt.ptx.syntax import Instruction, Operand, Pair, Register, Vector

__all__ = ["lower_pure"]

CARRY = "%cc"


def _table_form(instruction: Instruction) -> tuple[Form, list[Operand], list[Operand]]:
    """The form with its result and source operands, vectors and pairs taken apart."""
    first, *sources = instruction.operands
    opcode = instruction.opcode
    if instruction.name == "mov":
        if instruction.mods[0] == "param":
            opcode = f"mov.{instruction.mods[1]}"
        if isinstance(first, Vector) and len(first.items) > 1:
            opcode += f".unpack{len(first.items)}"
        elif sources and isinstance(sources[0], Vector) and len(sources[0].items) > 1:
            opcode += f".pack{len(sources[0].items)}"
    elif isinstance(first, Pair):
        opcode += ".pair"
    results = [first.first, first.second] if isinstance(first, Pair) else _items(first)
    return lookup(opcode), results, [item for source in sources for item in _items(source)]


def _items(operand: Operand) -> list[Operand]:
    return list(operand.items) if isinstance(operand, Vector) else [operand]


def lower_pure(w: Writer, instruction: Instruction) -> None:
    """Writes one computing instruction.

    Raises:
        Unsupported: the table has no such form, or the engine no such role.
    """
    try:
        form, results, sources = _table_form(instruction)
    except UnsupportedInstruction as error:
        raise Unsupported(str(error), instruction) from None
    op = form.op
    if op.role is Role.NONE:
        return
    if op.emit is None or op.shape is None:
        raise Unsupported(f"`{form.opcode}` is in the table but nothing carries it out yet", instruction)
    shape = op.shape(form)
    kinds = shape.sources[:-1] if shape.carry_in else shape.sources
    values = [w.typed(s, kind, instruction) for s, kind in zip(sources, kinds, strict=True)]
    if shape.carry_in:
        values.append(w.read(CARRY))
    if any(isinstance(value.type, ir.VectorType) for value in values):
        values = [w.spread(value) for value in values]
    answer = op.emit(w.e, form, *values)
    _store(w, instruction, shape, results, answer if isinstance(answer, tuple) else (answer,))


def _store(w: Writer, instruction: Instruction, shape, results: list[Operand], answer: tuple) -> None:
    keep = w.guard(instruction)
    if shape.carry_out:
        *answer_list, carry = answer
        w.write(CARRY, carry, keep)
        answer = tuple(answer_list)
    kinds = shape.results[:-1] if shape.carry_out else shape.results
    for operand, value, kind in zip(results, answer, kinds, strict=True):
        if isinstance(operand, Register) and operand.negated:
            raise Unsupported(f"negated destination of `{instruction.opcode}`", instruction)
        w.assign(operand, value, kind, keep)


