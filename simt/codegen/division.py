"""Integer `div` and `rem`: computed as the table says, with a finding for lanes that divide by zero."""

from __future__ import annotations

from llvmlite import ir

from simt.codegen.control import mark_site
from simt.codegen.emitter import I32
from simt.codegen.pure import lower_pure
from simt.codegen.writer import Writer
from simt.ptx.syntax import Immediate, Instruction
from simt.ptx.types import TYPES, Kind

__all__ = ["HANDLERS"]


def _divide(w: Writer, instruction: Instruction) -> None:
    """The division; a divisor written as a number needs no look."""
    kind = TYPES[instruction.mods[-1]]
    if kind.kind is not Kind.FLOAT and not isinstance(instruction.operands[2], Immediate):
        divisor = w.typed(instruction.operands[2], kind, instruction)
        lanes = w.b.and_(w.bits32(w.e.icmp("==", divisor, 0)), w.guarded_mask(w.guard(instruction)))
        site = ir.Constant(I32, mark_site(w, instruction))
        w.native("division_by_zero", ir.VoidType(), w.warp, site, lanes)
    lower_pure(w, instruction)


HANDLERS = {"div": _divide, "rem": _divide}
