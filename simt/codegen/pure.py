"""Instructions that only compute: operands in, the table's `emit`, results out."""

from __future__ import annotations

from dataclasses import replace

from llvmlite import ir

from simt.codegen.emitter import llvm_type
from simt.codegen.outlined import fits, is_long, long_function
from simt.codegen.prepare import Unsupported
from simt.codegen.writer import Writer, vector
from simt.isa import MalformedInstruction, UnsupportedInstruction, form_of, operands_of
from simt.isa.op import Form, Role, Shape
from simt.ptx.syntax import Instruction, Operand
from simt.ptx.types import TYPES

__all__ = ["lower_pure"]

CARRY = "%cc"


def lower_pure(w: Writer, instruction: Instruction) -> None:
    """Writes one computing instruction.

    Raises:
        Unsupported: the table has no such form, or the engine no such role.
    """
    if instruction.mods[:1] == ("param",):
        instruction = replace(instruction, opcode=f"mov.{instruction.mods[1]}", mods=instruction.mods[1:])
    try:
        form = form_of(instruction)
        op = form.op
        if op.role is Role.NONE:
            return
        if form.has("special") or form.has("address"):
            _move(w, instruction)
            return
        if op.emit is None or op.shape is None:
            raise Unsupported(f"`{form.opcode}` is in the table but nothing carries it out yet", instruction)
        results, sources = operands_of(instruction, form)
    except (UnsupportedInstruction, MalformedInstruction) as error:
        raise Unsupported(str(error), instruction) from None
    shape = op.shape(form)
    kinds = shape.sources[:-1] if shape.carry_in else shape.sources
    values = [w.typed(s, kind, instruction) for s, kind in zip(sources, kinds, strict=True)]
    if shape.carry_in:
        values.append(w.read(CARRY))
    is_vector = any(isinstance(value.type, ir.VectorType) for value in values)
    if is_vector:
        values = [w.spread(value) for value in values]
    results_and_sources = [llvm_type(kind) for kind in shape.results] + [value.type for value in values]
    called = is_vector and is_long(form) and fits(results_and_sources)
    answer = _called(w, form, shape, values) if called else op.emit(w.e, form, *values)
    _store(w, instruction, shape, results, answer if isinstance(answer, tuple) else (answer,))


def _called(w: Writer, form: Form, shape: Shape, values: list[ir.Value]) -> tuple[ir.Value, ...]:
    """The results of a long form, computed by its own function."""
    results = [llvm_type(kind) for kind in shape.results]
    sources = [value.type.element for value in values]
    name = long_function(form, results, sources, w.plan.cache)
    places = [w.buffer(f"result{index}", 256) for index in range(len(results))]
    for index, value in enumerate(values):
        places.append(w.buffer(f"source{index}", 256))
        w.b.store(value, places[-1], align=64)
    w.native(name, ir.VoidType(), *places)
    return tuple(w.b.load(place, typ=vector(kind), align=64) for place, kind in zip(places, results, strict=False))


def _move(w: Writer, instruction: Instruction) -> None:
    """`mov` of a special register or of an address."""

    kind = TYPES[instruction.mods[-1]]
    plain = TYPES[f"b{kind.bits}"] if kind.bits > 1 else kind
    value = w.raw(instruction.operands[1], plain, instruction)
    w.assign(instruction.operands[0], w.e.resize(value, kind.bits), plain, w.guard(instruction))


def _store(w: Writer, instruction: Instruction, shape: Shape, results: tuple[Operand, ...], answer: tuple) -> None:
    keep = w.guard(instruction)
    if shape.carry_out:
        *plain, carry = answer
        w.write(CARRY, carry, keep)
        answer = tuple(plain)
    kinds = shape.results[:-1] if shape.carry_out else shape.results
    for operand, value, kind in zip(results, answer, kinds, strict=True):
        w.assign(operand, value, kind, keep)
