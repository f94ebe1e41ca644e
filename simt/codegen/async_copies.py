"""Asynchronous copies and what waits for them: cp.async; `simt.codegen.bulk_copies` has cp.async.bulk."""

from __future__ import annotations

from llvmlite import ir

from simt.codegen.bulk_copies import bulk, sides
from simt.codegen.emitter import I32
from simt.codegen.mbarriers import addresses, mbarrier_site, spilled
from simt.codegen.prepare import Unsupported
from simt.codegen.writer import Writer
from simt.engine.state import Scope
from simt.ptx.syntax import Address, Immediate, Instruction, Operand, Register
from simt.ptx.types import TYPES

__all__ = ["HANDLERS"]

_U32 = TYPES["u32"]
_SIZES = (4, 8, 16)


def _copy(w: Writer, instruction: Instruction) -> None:
    """`cp.async [shared], [global], size {, source size | ignore};`."""
    target, source, size, *more = instruction.operands
    if not (isinstance(target, Address) and isinstance(source, Address) and isinstance(size, Immediate)):
        raise Unsupported(f"`{instruction.opcode}` with such operands", instruction)
    if size.value not in _SIZES or ("cg" in instruction.mods and size.value != 16):
        raise Unsupported(f"`{instruction.opcode}` of {size.value} bytes", instruction)
    if "L2::cache_hint" in instruction.mods:
        more = more[:-1]
    read, write = sides(w, instruction, Scope.GLOBAL, Scope.SHARED, size.value)
    wanted = spilled(w, _wanted(w, instruction, size.value, more), "sizes")
    sources = addresses(w, source, instruction, "addresses")
    targets = addresses(w, target, instruction, "targets")
    lanes = w.guarded_mask(w.guard(instruction))
    w.native("copy_async", ir.VoidType(), w.warp, read, write, lanes, sources, targets, wanted)


def _wanted(w: Writer, instruction: Instruction, size: int, more: list[Operand]) -> ir.Value:
    """Bytes that each lane reads; the rest of its copy is zeros."""
    whole = ir.Constant(I32, size)
    if not more:
        return whole
    (last,) = more
    if isinstance(last, Register) and w.kind(last.name).bits == 1:
        ignore = w.raw(last, TYPES["pred"], instruction)
        if isinstance(ignore.type, ir.VectorType):
            whole = w.spread(whole)
        return w.b.select(ignore, ir.Constant(whole.type, None), whole)
    return w.typed(last, _U32, instruction)


def _wait(w: Writer, instruction: Instruction, everything: bool) -> None:
    left = (
        w.first_lane(w.typed(instruction.operands[0], _U32, instruction))
        if instruction.operands
        else ir.Constant(I32, 0)
    )
    lanes = w.guarded_mask(w.guard(instruction))
    w.native("wait_copies", ir.VoidType(), w.warp, lanes, left, ir.Constant(I32, int(everything)))


def _arrive(w: Writer, instruction: Instruction) -> None:
    """`cp.async.mbarrier.arrive`."""
    place = addresses(w, instruction.operands[0], instruction, "addresses")
    counted = ir.Constant(I32, int("noinc" in instruction.mods))
    lanes = w.guarded_mask(w.guard(instruction))
    w.native("arrive_after_copies", ir.VoidType(), w.warp, mbarrier_site(w, instruction), lanes, counted, place)


def _cp(w: Writer, instruction: Instruction) -> None:
    kind = instruction.mods[:2]
    if "bulk" in instruction.mods:
        return bulk(w, instruction)
    if kind[1] in ("ca", "cg"):
        return _copy(w, instruction)
    if kind[1] == "commit_group":
        lanes = w.guarded_mask(w.guard(instruction))
        return w.native("commit_copies", ir.VoidType(), w.warp, lanes)
    if kind[1] in ("wait_group", "wait_all"):
        return _wait(w, instruction, kind[1] == "wait_all")
    if kind[1] == "mbarrier":
        return _arrive(w, instruction)
    raise Unsupported(f"`{instruction.opcode}`", instruction)


HANDLERS = {
    "cp": _cp,
}
