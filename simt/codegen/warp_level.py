"""Instructions in which lanes of a warp talk to each other: shuffles, votes, matches, reductions and their waiting."""

from __future__ import annotations

from llvmlite import ir

from simt.codegen import control
from simt.codegen.emitter import I32, I64
from simt.codegen.plan import WHOLE_WARP
from simt.codegen.prepare import Unsupported
from simt.codegen.writer import Writer, vector
from simt.engine.exchange import REDUX_CODES, SHUFFLE_MODES
from simt.engine.state import Warp
from simt.ptx.syntax import Instruction, Pair, Register
from simt.ptx.types import TYPES

__all__ = ["HANDLERS", "wait_for_lanes", "warp_barrier"]

_U32, _PRED = TYPES["u32"], TYPES["pred"]


def _members(w: Writer, instruction: Instruction) -> ir.Value:
    """The member mask operand: the last one, of `bar.warp.sync` the only one, of matrices everybody."""
    if instruction.name in WHOLE_WARP:
        return ir.Constant(I32, 0xFFFFFFFF)
    return w.typed(instruction.operands[-1], _U32, instruction)


def wait_for_lanes(w: Writer, instruction: Instruction, index: int, head: ir.Block) -> None:
    """Masked code: parks the running lanes until every live lane that their mask names has come."""
    members = w.first_lane(_members(w, instruction))
    site = ir.Constant(I32, control.mark_site(w, instruction))
    missing = w.native("must_wait", I32, w.warp, site, w.mask, members)
    wait, go = w.function.append_basic_block("wait"), w.function.append_basic_block("go")
    w.b.cbranch(w.b.icmp_unsigned("!=", missing, ir.Constant(I32, 0)), wait, go)
    w.b.position_at_end(wait)
    control.park(w, index)
    w.b.branch(head)
    w.b.position_at_end(go)


def _spilled(w: Writer, value: ir.Value, name: str) -> ir.Value:
    place = w.buffer(name, 256)
    w.b.store(w.spread(value), place, align=64)
    return place


def _site(w: Writer, instruction: Instruction) -> ir.Value:
    return ir.Constant(I32, control.mark_site(w, instruction))


def _meet(w: Writer) -> None:
    """Warp-level synchronisation passed: what lanes wrote before is ordered before what they read after."""
    place = w.field(Warp, w.warp, "sync_epoch")
    w.b.store(w.b.add(w.b.load(place, typ=I64), ir.Constant(I64, 1)), place)


def warp_barrier(w: Writer, instruction: Instruction) -> None:
    """`bar.warp.sync`."""
    members = w.first_lane(_members(w, instruction))
    w.native("check_members", ir.VoidType(), w.warp, _site(w, instruction), w.mask, members)
    _meet(w)


def _shuffle(w: Writer, instruction: Instruction) -> None:
    target, value, lane, clamp = instruction.operands[:4]
    if instruction.mods[-1] != "b32":
        raise Unsupported(f"`{instruction.opcode}`", instruction)
    mode = next(m for m in instruction.mods if m in SHUFFLE_MODES)
    members = _members(w, instruction) if "sync" in instruction.mods else ir.Constant(I32, 0xFFFFFFFF)
    values = _spilled(w, w.typed(value, _U32, instruction), "data")
    lanes = _spilled(w, w.typed(lane, _U32, instruction), "more")
    clamps = _spilled(w, w.typed(clamp, _U32, instruction), "clamps")
    masks = _spilled(w, members, "masks")
    out = w.buffer("out", 512)
    guard = w.guard(instruction)
    bits = w.native(
        "shuffle", I32, w.warp, _site(w, instruction), w.guarded_mask(guard), ir.Constant(I32, SHUFFLE_MODES[mode]),
        values, lanes, clamps, masks, out,
    )  # fmt: skip
    _meet(w)
    first = target.first if isinstance(target, Pair) else target
    w.assign(first, w.b.load(out, typ=vector(I32), align=64), _U32, guard)
    if isinstance(target, Pair):
        w.assign(target.second, w.b.bitcast(bits, vector(ir.IntType(1))), _PRED, guard)


def _vote(w: Writer, instruction: Instruction) -> None:
    """`vote`: a ballot among the running lanes that each lane's mask names."""
    guard = w.guard(instruction)
    running = w.guarded_mask(guard)
    bits = w.b.and_(w.bits32(w.typed(instruction.operands[1], _PRED, instruction)), running)
    members = ir.Constant(I32, 0xFFFFFFFF)
    if "sync" in instruction.mods:
        members = _members(w, instruction)
        named = w.first_lane(members)
        w.native("check_members", ir.VoidType(), w.warp, _site(w, instruction), running, named)
    _meet(w)
    if isinstance(members.type, ir.VectorType):
        bits, running = w.spread(bits), w.spread(running)
    chosen, asked = w.b.and_(bits, members), w.b.and_(running, members)
    kind = next(m for m in instruction.mods if m in ("all", "any", "uni", "ballot"))
    if kind == "ballot":
        return w.assign(instruction.operands[0], chosen, _U32, guard)
    none, whole = w.e.icmp("==", chosen, 0), w.e.icmp("==", chosen, asked)
    answer = {"any": lambda: w.e.not_(none), "all": lambda: whole, "uni": lambda: w.e.or_(none, whole)}[kind]()
    return w.assign(instruction.operands[0], answer, _PRED, guard)


def _activemask(w: Writer, instruction: Instruction) -> None:
    w.assign(instruction.operands[0], w.mask, _U32, w.guard(instruction))


def _match(w: Writer, instruction: Instruction) -> None:
    """`match.any` and `match.all`: which lanes hold the same value."""
    target, value = instruction.operands[:2]
    bits = int(instruction.mods[-1][1:])
    wide = w.e.resize(w.typed(value, TYPES[f"b{bits}"], instruction), 64)
    values = _spilled(w, wide, "addresses")
    masks = _spilled(w, _members(w, instruction), "masks")
    out, guard = w.buffer("out", 512), w.guard(instruction)
    every = ir.Constant(I32, int("all" in instruction.mods))
    truth = w.native("match", I32, w.warp, _site(w, instruction), w.guarded_mask(guard), every, values, masks, out)
    _meet(w)
    first = target.first if isinstance(target, Pair) else target
    w.assign(first, w.b.load(out, typ=vector(I32), align=64), _U32, guard)
    if isinstance(target, Pair):
        w.assign(target.second, w.b.bitcast(truth, vector(ir.IntType(1))), _PRED, guard)


def _redux(w: Writer, instruction: Instruction) -> None:
    target, value = instruction.operands[:2]
    name = next(m for m in instruction.mods if m in REDUX_CODES)
    kind = TYPES[instruction.mods[-1]]
    if kind.name not in ("u32", "s32", "b32"):
        raise Unsupported(f"`{instruction.opcode}`", instruction)
    code = REDUX_CODES[name] + (16 if kind.is_signed else 0)
    values = _spilled(w, w.typed(value, TYPES["b32"], instruction), "data")
    masks = _spilled(w, _members(w, instruction), "masks")
    out, guard = w.buffer("out", 512), w.guard(instruction)
    w.native(
        "redux", ir.VoidType(), w.warp, _site(w, instruction), w.guarded_mask(guard), ir.Constant(I32, code), values,
        masks, out,
    )  # fmt: skip
    _meet(w)
    w.assign(target, w.b.load(out, typ=vector(I32), align=64), _U32, guard)


def _elect(w: Writer, instruction: Instruction) -> None:
    """`elect.sync`: the lowest running lane that the mask names is the leader."""
    target = instruction.operands[0]
    guard = w.guard(instruction)
    members, running = w.first_lane(_members(w, instruction)), w.guarded_mask(guard)
    w.native("check_members", ir.VoidType(), w.warp, _site(w, instruction), running, members)
    named = w.b.and_(members, running)
    leader = w.native("llvm.cttz.i32", I32, named, ir.Constant(ir.IntType(1), 0))
    first = w.b.and_(named, w.b.neg(named))
    _meet(w)
    if isinstance(target, Pair):
        w.assign(target.first, leader, _U32, guard)
        w.assign(target.second, w.b.bitcast(first, vector(ir.IntType(1))), _PRED, guard)
    elif isinstance(target, Register):
        w.assign(target, leader, _U32, guard)


HANDLERS = {
    "shfl": _shuffle,
    "vote": _vote,
    "activemask": _activemask,
    "match": _match,
    "redux": _redux,
    "elect": _elect,
}
