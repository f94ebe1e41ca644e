"""Asynchronous copies and what waits for them: cp.async and cp.async.bulk."""

from __future__ import annotations

from llvmlite import ir

from simt.codegen.emitter import I32
from simt.codegen.mbarriers import addresses, mbarrier_site, spilled
from simt.codegen.plan import SiteInfo
from simt.codegen.prepare import Unsupported
from simt.codegen.writer import Writer
from simt.engine.state import Access, Scope
from simt.ptx.syntax import Address, Immediate, Instruction, Operand, Register
from simt.ptx.types import TYPES

__all__ = ["HANDLERS"]

_U32 = TYPES["u32"]
_SIZES = (4, 8, 16)
_UNIT = 16  # bytes that bulk copies come in


def _sides(
    w: Writer, instruction: Instruction, n_bytes: int, source: Scope = Scope.GLOBAL, target: Scope = Scope.SHARED
) -> tuple[ir.Value, ir.Value]:
    """Sites of a copy's two sides: the one it reads, then the one it writes."""
    line = w.plan.call_line(instruction)
    read = w.plan.site(instruction, lambda: SiteInfo(instruction, line, int(source), int(Access.LOAD), n_bytes))
    write = w.plan.site(
        instruction, lambda: SiteInfo(instruction, line, int(target), int(Access.STORE), n_bytes), part=1
    )
    return w.site_pointer(read), w.site_pointer(write)


def _copy(w: Writer, instruction: Instruction) -> None:
    """`cp.async [shared], [global], size {, source size | ignore};`."""
    target, source, size, *more = instruction.operands
    if not (isinstance(target, Address) and isinstance(source, Address) and isinstance(size, Immediate)):
        raise Unsupported(f"`{instruction.opcode}` with such operands", instruction)
    if size.value not in _SIZES or ("cg" in instruction.mods and size.value != 16):
        raise Unsupported(f"`{instruction.opcode}` of {size.value} bytes", instruction)
    if "L2::cache_hint" in instruction.mods:
        more = more[:-1]
    read, write = _sides(w, instruction, size.value)
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
    left = w.first_lane(w.typed(instruction.operands[0], _U32, instruction)) if instruction.operands else ir.Constant(I32, 0)
    lanes = w.guarded_mask(w.guard(instruction))
    w.native("wait_copies", ir.VoidType(), w.warp, lanes, left, ir.Constant(I32, int(everything)))


def _bulk(w: Writer, instruction: Instruction) -> None:
    """`cp.async.bulk`: a load with an mbarrier, a store in a group, or what is done with groups."""
    lanes = w.guarded_mask(w.guard(instruction))
    kind = instruction.mods[2]
    if kind == "commit_group":
        return w.native("commit_bulk", ir.VoidType(), w.warp, lanes)
    if kind == "wait_group":
        left = w.first_lane(w.typed(instruction.operands[0], _U32, instruction))
        return w.native("wait_bulk", ir.VoidType(), w.warp, lanes, left)
    if kind not in ("shared::cluster", "shared::cta", "global"):
        raise Unsupported(f"`{instruction.opcode}`", instruction)
    target, source, size = instruction.operands[:3]
    ends = [addresses(w, source, instruction, "addresses"), addresses(w, target, instruction, "targets")]
    ends.append(spilled(w, w.typed(size, _U32, instruction), "sizes"))
    if kind == "global":
        read, write = _sides(w, instruction, _UNIT, Scope.SHARED, Scope.GLOBAL)
        return w.native("bulk_store", ir.VoidType(), w.warp, read, write, lanes, *ends)
    read, write = _sides(w, instruction, _UNIT)
    barrier = mbarrier_site(w, instruction, part=2)
    ends.append(addresses(w, instruction.operands[3], instruction, "masks"))
    return w.native("bulk_load", ir.VoidType(), w.warp, read, write, barrier, lanes, *ends)


def _arrive(w: Writer, instruction: Instruction) -> None:
    """`cp.async.mbarrier.arrive`."""
    place = addresses(w, instruction.operands[0], instruction, "addresses")
    counted = ir.Constant(I32, int("noinc" in instruction.mods))
    lanes = w.guarded_mask(w.guard(instruction))
    w.native("arrive_after_copies", ir.VoidType(), w.warp, mbarrier_site(w, instruction), lanes, counted, place)


def _cp(w: Writer, instruction: Instruction) -> None:
    kind = instruction.mods[:2]
    if kind[0] != "async":
        raise Unsupported(f"`{instruction.opcode}`", instruction)
    if kind[1] in ("ca", "cg"):
        return _copy(w, instruction)
    if kind[1] == "commit_group":
        lanes = w.guarded_mask(w.guard(instruction))
        return w.native("commit_copies", ir.VoidType(), w.warp, lanes)
    if kind[1] in ("wait_group", "wait_all"):
        return _wait(w, instruction, kind[1] == "wait_all")
    if kind[1] == "mbarrier":
        return _arrive(w, instruction)
    if kind[1] == "bulk":
        return _bulk(w, instruction)
    raise Unsupported(f"`{instruction.opcode}`", instruction)


HANDLERS = {
    "cp": _cp,
}
