"""Clusters: addresses in another block's shared memory, and the barrier of a cluster."""

from __future__ import annotations

from llvmlite import ir

from simt.codegen.emitter import I32
from simt.codegen.plan import SiteInfo, is_cluster_wait
from simt.codegen.writer import Writer
from simt.engine.state import CLUSTER_BARRIER, RANK_SHIFT, RANK_UNIT, Access, Block, Scope, Warp
from simt.ptx.syntax import Instruction
from simt.ptx.types import TYPES

__all__ = ["HANDLERS", "cluster_arrive", "cluster_wait", "is_cluster_wait"]

_U32 = TYPES["u32"]
_RANK_MASK = 0xFF


def _site(w: Writer, instruction: Instruction) -> int:
    line = w.plan.call_line(instruction)
    return w.plan.site(instruction, lambda: SiteInfo(instruction, line, int(Scope.CONST), int(Access.LOAD)))


def cluster_arrive(w: Writer, instruction: Instruction) -> None:
    """`barrier.cluster.arrive`: counts and goes on."""
    lanes = w.guarded_mask(w.guard(instruction))
    w.native("cluster_arrive", ir.VoidType(), w.warp, ir.Constant(I32, _site(w, instruction)), lanes)


def cluster_wait(w: Writer, instruction: Instruction) -> None:
    """`barrier.cluster.wait`: writes down that the running lanes wait; the scheduler lets them go."""
    w.store_field(Warp, w.warp, "barrier", CLUSTER_BARRIER)
    w.store_field(Warp, w.warp, "barrier_site", _site(w, instruction))
    w.b.store(w.mask, w.field(Warp, w.warp, "barrier_mask"))


def _mapa(w: Writer, instruction: Instruction) -> None:
    """The same place in the shared memory of the block of a rank, of the space that the given address is of."""
    kind = TYPES[instruction.mods[-1]]
    place = w.typed(instruction.operands[1], kind, instruction)
    rank = w.e.resize(w.typed(instruction.operands[2], _U32, instruction), kind.bits)
    if w.e.is_vector(place) != w.e.is_vector(rank):
        place, rank = w.spread(place), w.spread(rank)
    offset = w.e.and_(place, ~(_RANK_MASK << RANK_SHIFT) & ((1 << kind.bits) - 1))
    where = w.e.shl(w.e.and_(w.e.add(rank, 1), _RANK_MASK), RANK_SHIFT)
    w.assign(instruction.operands[0], w.e.or_(offset, where), kind, w.guard(instruction))


def _rank_of(w: Writer, instruction: Instruction) -> None:
    """`getctarank`: the block that an address is of; without a rank the block itself."""
    kind = TYPES[instruction.mods[-1]]
    address = w.typed(instruction.operands[1], kind, instruction)
    low = w.e.resize(address, 32)
    own = w.load_field(Block, w.block_ptr, "rank", I32)
    if w.e.is_vector(low):
        own = w.spread(own)
    named = w.e.and_(w.e.lshr(low, RANK_SHIFT), _RANK_MASK)
    rank = w.b.select(w.e.icmp("<", low, RANK_UNIT), own, w.e.sub(named, 1))
    w.assign(instruction.operands[0], rank, _U32, w.guard(instruction))


HANDLERS = {
    "mapa": _mapa,
    "getctarank": _rank_of,
}
