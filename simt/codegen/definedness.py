"""Registers that may be read before anything wrote them, followed until their value matters.

NVVM leaves an uninitialised variable as a register without a definition on some path. Copies and arithmetic pass the
doubt on; a store, an address or a branch is where it shows. Only registers that such a value can reach carry a mask of
undefined lanes, so that ordinary kernels pay nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from llvmlite import ir

from simt.codegen.emitter import I32
from simt.ptx.cfg import Cfg
from simt.ptx.liveness import Liveness
from simt.ptx.syntax import Address, Immediate, Instruction, Register, Vector
from simt.ptx.usedef import defs, uses

if TYPE_CHECKING:
    from simt.codegen.writer import Writer

__all__ = ["check_use", "doubtful", "follow"]

_SINKS = frozenset(["st", "red", "atom", "bra", "brx", "cp", "mbarrier", "ld", "ldmatrix", "stmatrix"])
_WMMA_SINKS = (("load",), ("store",))  # of `wmma.load` and `wmma.store`
_DEFINITE = frozenset(["ld", "atom", "shfl", "vote", "match", "redux", "activemask", "barrier_result", "call", "ldmatrix",
                        "mbarrier"])  # fmt: skip
_ZERO = ir.Constant(I32, 0)


def doubtful(cfg: Cfg, live: Liveness) -> frozenset[str]:
    """Registers that a value nothing wrote can reach."""
    found = set(live.live_in[0])
    if not found:
        return frozenset()
    instructions = [i for block in cfg.blocks for i in block.instructions if i.name not in _DEFINITE]
    while True:
        more = {name for i in instructions if not found.isdisjoint(uses(i)) for name in defs(i)} - found
        if not more:
            return frozenset(found)
        found |= more


def check_use(w: Writer, instruction: Instruction) -> None:
    """At an instruction whose operands matter, once its own site exists: lanes with an undefined one are reported."""
    if instruction.name not in _SINKS and instruction.mods[:1] not in _WMMA_SINKS:
        return
    names = [name for name in _deciding(instruction) if name in w.plan.doubtful]
    if not names:
        return
    bits = _any(w, names)
    guard = w.guard(instruction) if instruction.name not in ("bra", "brx") else None
    lanes = w.b.and_(bits, w.guarded_mask(guard))
    from simt.codegen.control import mark_site

    site = ir.Constant(I32, mark_site(w, instruction))  # the memory site where the instruction has one
    w.native("undefined_use", ir.VoidType(), w.warp, site, lanes)


def _deciding(instruction: Instruction) -> Iterable[str]:
    if instruction.name in ("bra", "brx"):
        return uses(instruction)
    guard = [instruction.guard.register] if instruction.guard else []
    if instruction.name in ("ld", "ldmatrix"):
        bases = [o.base.name for o in instruction.operands if isinstance(o, Address) and isinstance(o.base, Register)]
        return [*guard, *bases]
    return uses(instruction)


def _any(w: Writer, names: Iterable[str]) -> ir.Value:
    bits: ir.Value = _ZERO
    for name in names:
        bits = w.b.or_(bits, w.undefined(name))
    return bits


def follow(w: Writer, instruction: Instruction) -> None:
    """After an instruction: which lanes of its results are undefined."""
    results = [name for name in defs(instruction) if name in w.plan.doubtful]
    if not results:
        return
    bits = _ZERO if instruction.name in _DEFINITE else _passed_on(w, instruction)
    guard = w.guard(instruction)
    if guard is not None:
        run = w.bits32(guard)
        bits = w.b.or_(w.b.and_(bits, run), w.b.and_(w.undefined(results[0]), w.b.not_(run)))
    for name in results:
        w.set_undefined(name, bits)


def _passed_on(w: Writer, instruction: Instruction) -> ir.Value:
    """Undefined lanes among the operands; a value that decides an and, an or or a select alone clears the doubt."""
    operands = instruction.operands[1:]
    if instruction.opcode in ("and.pred", "or.pred") and all(isinstance(o, Register) for o in operands):
        a, b = (w.undefined(o.name) for o in operands)
        x, y = (w.bits32(w.read(o.name)) for o in operands)
        if instruction.name == "or":
            x, y = w.b.not_(x), w.b.not_(y)
        return w.b.or_(w.b.and_(a, b), w.b.or_(w.b.and_(a, y), w.b.and_(b, x)))
    if instruction.name == "selp" and isinstance(operands[2], Register):
        chosen = w.bits32(w.read(operands[2].name))
        first, second = (w.undefined(o.name) if isinstance(o, Register) else _ZERO for o in operands[:2])
        parts = w.b.or_(w.b.and_(first, chosen), w.b.and_(second, w.b.not_(chosen)))
        return w.b.or_(parts, w.undefined(operands[2].name))
    if instruction.name == "wgmma":
        return _of_product(w, instruction)
    guard = instruction.guard.register if instruction.guard else None
    return _any(w, [name for name in uses(instruction) if name != guard])


def _of_product(w: Writer, instruction: Instruction) -> ir.Value:
    """Undefined lanes of `wgmma.mma_async`: its accumulators do not count where scale-d is false."""
    _, *factors, adds = instruction.operands[:4]
    inputs = _any(
        w, [item.name for f in factors if isinstance(f, Vector) for item in f.items if isinstance(item, Register)]
    )
    sums = _any(w, defs(instruction))
    if isinstance(adds, Register):
        truth = w.bits32(w.read(adds.name))
        sums = w.b.and_(sums, w.b.not_(truth) if adds.negated else truth)
    elif isinstance(adds, Immediate) and adds.value == 0:
        sums = _ZERO
    return w.b.or_(inputs, sums)
