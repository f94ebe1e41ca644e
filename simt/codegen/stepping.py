"""Code that tells what a warp does at every instruction: in a program that is followed, and in no other."""

from __future__ import annotations

from llvmlite import ir

from simt.codegen.emitter import I32, I64
from simt.codegen.memory_access import address_of
from simt.codegen.writer import PTR, Writer, vector
from simt.engine.stepping import ADDRESSES, STEP, TAKEN
from simt.ptx.syntax import Address, Instruction, Symbol
from simt.ptx.usedef import defs

__all__ = ["step_begins", "step_ends", "step_parts"]


def step_begins(w: Writer, instruction: Instruction) -> None:
    """Who runs it, and where it reaches."""
    guard = w.guard(instruction) if instruction.name not in ("bra", "brx", "ret", "exit") else None
    lanes = w.guarded_mask(guard)
    _tell(w, instruction, STEP, lanes, None)
    place = next((o for o in instruction.operands if isinstance(o, Address)), None)
    if place is None or (isinstance(place.base, Symbol) and place.base.name in w.plan.params):
        return
    _tell(w, instruction, ADDRESSES, lanes, address_of(w, place, instruction))


def step_ends(w: Writer, instruction: Instruction) -> None:
    """What it wrote."""
    lanes = w.guarded_mask(w.guard(instruction))
    for part, name in enumerate(defs(instruction)):
        value = w.read(name)
        if w.e.width(value) <= 64:
            _tell(w, instruction, part, lanes, value)


def step_parts(w: Writer, last: Instruction) -> None:
    """A branch, a return or an exit: who stands there and who goes."""
    step_begins(w, last)
    if last.guard is not None:
        _tell(w, last, TAKEN, w.guarded_mask(w.guard(last)), None)


def _tell(w: Writer, instruction: Instruction, part: int, lanes: ir.Value, value: ir.Value | None) -> None:
    steps = w.plan.steps
    assert steps is not None
    index = steps.setdefault(id(instruction), (len(steps), instruction))[0]
    place: ir.Value = ir.Constant(PTR, None)
    if value is not None:
        place = w.buffer("step", 256)
        wide = w.e.resize(w.spread(value), 64)
        w.b.store(wide, place, align=64)
        assert wide.type == vector(I64)
    w.native("trace_step", ir.VoidType(), w.warp, ir.Constant(I32, index), ir.Constant(I32, part), lanes, place)
