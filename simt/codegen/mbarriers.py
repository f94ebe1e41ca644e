"""mbarriers: which native operation each form is, with its amounts and results."""

from __future__ import annotations

from llvmlite import ir

from simt.codegen.emitter import I32, I64
from simt.codegen.memory_access import address_of
from simt.codegen.plan import SiteInfo
from simt.codegen.prepare import Unsupported
from simt.codegen.writer import Writer, vector
from simt.engine.mbarriers import Operation
from simt.engine.state import Access, Scope, SiteFlag
from simt.ptx.syntax import Address, Instruction, Operand, Register
from simt.ptx.types import TYPES

__all__ = ["HANDLERS", "addresses", "mbarrier_site", "spilled"]

_U32, _U64, _PRED = TYPES["u32"], TYPES["u64"], TYPES["pred"]
_OPERATIONS = {
    "init": Operation.INIT, "inval": Operation.INVALIDATE, "arrive": Operation.ARRIVE, "arrive_drop": Operation.DROP,
    "expect_tx": Operation.EXPECT, "complete_tx": Operation.COMPLETE,
}  # fmt: skip
_ANNOUNCING = {"arrive": Operation.ANNOUNCE, "arrive_drop": Operation.ANNOUNCE_DROP}


def spilled(w: Writer, value: ir.Value, name: str) -> ir.Value:
    """A value of 32 lanes on the stack, under a name of its own."""
    place = w.buffer(name, 256)
    w.b.store(w.spread(value), place, align=64)
    return place


def addresses(w: Writer, operand: Operand, instruction: Instruction, name: str) -> ir.Value:
    """The lanes' addresses in an operand, spilled to (32,) i64 in memory under `name`."""
    if not isinstance(operand, Address):
        raise Unsupported(f"`{instruction.opcode}` without an address", instruction)
    return spilled(w, address_of(w, operand, instruction), name)


def mbarrier_site(w: Writer, instruction: Instruction, part: int = 0) -> ir.Value:
    """The site of the eight bytes that an mbarrier takes."""
    near = any(mod.startswith("shared") for mod in instruction.mods) or instruction.name == "cp"
    scope = Scope.SHARED if near else Scope.GENERIC
    flags = int(SiteFlag.CLUSTER) if "shared::cluster" in instruction.mods else 0
    line = w.plan.call_line(instruction)
    info = SiteInfo(instruction, line, int(scope), int(Access.ATOMIC), 8, flags=flags)
    return w.site_pointer(w.plan.site(instruction, lambda: info, part=part))


def _mbarrier(w: Writer, instruction: Instruction) -> None:
    kind = instruction.mods[0]
    if kind == "pending_count":
        state = w.typed(instruction.operands[1], _U64, instruction)
        count = w.e.trunc(w.e.and_(state, w.e.const(state, (1 << 20) - 1)), 32)
        return w.assign(instruction.operands[0], count, _U32, w.guard(instruction))
    if kind in ("test_wait", "try_wait"):
        return _test(w, instruction)
    operands = list(instruction.operands)
    result = None if isinstance(operands[0], Address) else operands.pop(0)
    operation = _ANNOUNCING[kind] if "expect_tx" in instruction.mods[1:] else _OPERATIONS[kind]
    amount = w.typed(operands[1], _U32, instruction) if len(operands) > 1 else ir.Constant(I32, 1)
    out = w.buffer("out", 512)
    w.native(
        "mbarrier_operation", ir.VoidType(), w.warp, mbarrier_site(w, instruction), w.guarded_mask(w.guard(instruction)),
        ir.Constant(I32, int(operation)), addresses(w, operands[0], instruction, "addresses"), spilled(w, amount, "data"), out,
    )  # fmt: skip
    if isinstance(result, Register):
        w.assign(result, w.b.load(out, typ=vector(I64), align=64), _U64, w.guard(instruction))
    return None


def _test(w: Writer, instruction: Instruction) -> None:
    result, place, token = instruction.operands[:3]
    parity = "parity" in instruction.mods
    value = w.e.resize(w.typed(token, _U32 if parity else _U64, instruction), 64)
    guard = w.guard(instruction)
    passed = w.native(
        "mbarrier_test", I32, w.warp, mbarrier_site(w, instruction), w.guarded_mask(guard), ir.Constant(I32, int(parity)),
        addresses(w, place, instruction, "addresses"), spilled(w, value, "masks"),
    )  # fmt: skip
    w.assign(result, w.b.bitcast(passed, vector(ir.IntType(1))), _PRED, guard)


HANDLERS = {
    "mbarrier": _mbarrier,
}
