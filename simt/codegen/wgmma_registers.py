"""States of the registers that wgmma uses: in flight since which group, or written since which fence.

PTX names a product's registers, but it neither names them where it waits nor where it passes a fence. Each such register,
and each that a `mov` connects with one (NVVM copies accumulators where they go round a loop; ptxas lets the copies
vanish), carries a 32-bit state beside its value: see `simt.engine.wgmma_rules`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llvmlite import ir

from simt.codegen.emitter import I32
from simt.engine.state import Warp
from simt.engine.wgmma_rules import INPUT, ORDINARY, SETTLED
from simt.ptx.cfg import Cfg
from simt.ptx.syntax import Instruction, Operand, Register, Vector
from simt.ptx.usedef import defs, uses

if TYPE_CHECKING:
    from simt.codegen.writer import Writer

__all__ = ["check_order", "products_registers", "take", "watch"]

_SETTLED = ir.Constant(I32, SETTLED)


def registers_of(operand: Operand) -> list[str]:
    """The registers of a fragment."""
    return [item.name for item in operand.items if isinstance(item, Register)] if isinstance(operand, Vector) else []


def products_registers(cfg: Cfg) -> set[str]:
    """Registers of accumulators and of A, with those that copies connect them to."""
    instructions = [i for block in cfg.blocks for i in block.instructions]
    found: set[str] = set()
    for instruction in instructions:
        if instruction.name == "wgmma" and instruction.mods[0] == "mma_async":
            found.update(name for operand in instruction.operands[:2] for name in registers_of(operand))
    copies = [pair for i in instructions if (pair := _copy(i)) is not None]
    while True:
        more = {name for pair in copies if not found.isdisjoint(pair) for name in pair} - found
        if not more:
            return found
        found |= more


def _copy(instruction: Instruction) -> tuple[str, str] | None:
    """(target, source) of a copy from register to register."""
    if instruction.name != "mov" or len(instruction.operands) != 2:
        return None
    target, source = instruction.operands
    return (target.name, source.name) if isinstance(target, Register) and isinstance(source, Register) else None


def _state(w: Writer, name: str) -> ir.Value:
    known = w.states.get(name)
    if known is None:
        known = w.b.load(w.at(w.registers, w.plan.states[name]), typ=I32)
    return known


def check_order(w: Writer, site: ir.Value, lanes: ir.Value, operands: list[Operand]) -> None:
    """Before a product: its registers must not have been written since the last fence."""
    for name in (name for operand in operands for name in registers_of(operand)):
        state = _state(w, name)
        if not isinstance(state, ir.Constant):
            w.native("check_order", ir.VoidType(), w.warp, site, lanes, state)


def take(w: Writer, operand: Operand, is_input: bool) -> None:
    """After a product: its registers belong to the group that the next commit closes."""
    group = w.load_field(Warp, w.warp, "product_commits", I32)
    state = w.b.or_(group, ir.Constant(I32, INPUT)) if is_input else group
    for name in registers_of(operand):
        w.states[name] = state


def watch(w: Writer, instruction: Instruction) -> None:
    """After an ordinary instruction: reading and writing registers in flight is told, a write is remembered."""
    if instruction.name == "wgmma":
        return
    pair = _copy(instruction)
    if pair is not None:
        if pair[0] in w.plan.states:
            w.states[pair[0]] = _state(w, pair[1])
        return
    reads = [name for name in uses(instruction) if name in w.plan.states]
    writes = [name for name in defs(instruction) if name in w.plan.states]
    for names, kind in ((reads, 0), (writes, 1)):
        for name in names:
            _check(w, instruction, _state(w, name), kind)
    is_constant = instruction.name == "mov"
    for name in writes:
        w.states[name] = _SETTLED if is_constant else _written(w)


def _check(w: Writer, instruction: Instruction, state: ir.Value, kind: int) -> None:
    if isinstance(state, ir.Constant):
        return
    from simt.codegen.control import mark_site

    site, lanes = ir.Constant(I32, mark_site(w, instruction)), w.guarded_mask(w.guard(instruction))
    w.native("check_settled", ir.VoidType(), w.warp, site, lanes, state, ir.Constant(I32, kind))


def _written(w: Writer) -> ir.Value:
    return w.b.or_(w.load_field(Warp, w.warp, "fences", I32), ir.Constant(I32, ORDINARY))
