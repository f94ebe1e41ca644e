"""Barriers, exits, traps, sleeping and the runtime calls of a kernel."""

from __future__ import annotations

from collections.abc import Iterator

from llvmlite import ir

from simt.codegen.clusters import cluster_arrive, cluster_wait, is_cluster_wait
from simt.codegen.emitter import I32, I64
from simt.codegen.plan import SiteInfo, is_barrier
from simt.codegen.prepare import Unsupported
from simt.codegen.recursion import STACK_NAME
from simt.codegen.writer import PTR, Writer
from simt.engine.state import LANES, MAX_BARRIERS, STACK_BYTES, Access, Exit, Scope, Warp
from simt.ptx.cfg import Block as BasicBlock
from simt.ptx.syntax import Instruction, Register
from simt.ptx.types import TYPES

__all__ = ["HANDLERS", "arrive", "indexed_targets", "is_barrier", "lanes_leave", "mark_site", "park"]

_U32, _PRED = TYPES["u32"], TYPES["pred"]


def mark_site(w: Writer, instruction: Instruction) -> int:
    """The site of an instruction that reports but reaches no memory."""
    return w.plan.site(
        instruction, lambda: SiteInfo(instruction, w.plan.line(instruction), int(Scope.CONST), int(Access.LOAD))
    )


def _value(w: Writer, operand, instruction: Instruction) -> ir.Value:
    """A warp-wide operand: an immediate or what the first running lane holds."""
    return w.first_lane(w.typed(operand, _U32, instruction))


def arrive(w: Writer, barrier: Instruction, index: int) -> None:
    """Writes down which barrier the running lanes wait at; the scheduler counts and releases."""
    if is_cluster_wait(barrier):
        return cluster_wait(w, barrier)
    operands = list(barrier.operands)
    predicate = None
    if "red" in barrier.mods:
        predicate = operands.pop()
    number = _value(w, operands[0], barrier) if operands else ir.Constant(I32, 0)
    count = _value(w, operands[1], barrier) if len(operands) > 1 else ir.Constant(I32, 0)
    number = _checked(w, barrier, number, count)
    w.b.store(number, w.field(Warp, w.warp, "barrier"))
    w.b.store(count, w.field(Warp, w.warp, "barrier_threads"))
    w.store_field(Warp, w.warp, "barrier_site", mark_site(w, barrier))
    w.store_field(Warp, w.warp, "barrier_divergent", int(index in w.plan.uniformity.divergent_blocks))
    w.b.store(w.mask, w.field(Warp, w.warp, "barrier_mask"))
    bits = ir.Constant(I32, 0)
    if predicate is not None:
        bits = w.bits32(w.typed(predicate, _PRED, barrier))
    w.b.store(bits, w.field(Warp, w.warp, "barrier_predicate"))


def _checked(w: Writer, instruction: Instruction, number: ir.Value, count: ir.Value) -> ir.Value:
    """The number of a barrier that exists; ordinary constants need no check at run time."""
    constant = isinstance(number, ir.Constant) and isinstance(count, ir.Constant)
    if constant and number.constant in range(MAX_BARRIERS) and count.constant % LANES == 0:
        return number
    site = ir.Constant(I32, mark_site(w, instruction))
    return w.native("barrier_number", I32, w.warp, site, number, count, w.guarded_mask(w.guard(instruction)))


def park(w: Writer, index: int, site: int | None = None) -> None:
    """Lets the running lanes wait before this block for other lanes of their warp."""
    parked = w.load_field(Warp, w.warp, "parked", PTR)
    place = w.at(parked, 4 * index)
    w.b.store(w.b.or_(w.b.load(place, typ=I32), w.mask), place)
    if site is not None:
        w.store_field(Warp, w.warp, "parked_barrier", site)


def lanes_leave(w: Writer, instruction: Instruction | None, lanes: ir.Value) -> None:
    """The lanes exit the kernel."""
    site = mark_site(w, instruction) if instruction is not None else -1
    w.native("leave_kernel", ir.VoidType(), w.warp, ir.Constant(I32, site), lanes)


def indexed_targets(w: Writer, block: BasicBlock, jump: Instruction) -> Iterator[tuple[int, ir.Value]]:
    """(block, lanes) for every entry of a `brx.idx`."""
    index = w.spread(w.typed(jump.operands[0], _U32, jump))
    bits = w.guarded_mask(w.guard(jump))
    for number, target in enumerate(block.targets):
        here = w.b.bitcast(w.e.icmp("==", index, number), I32)
        yield target, w.b.and_(here, bits)
    if block.fall_through is not None and jump.guard is not None:
        yield block.fall_through, w.b.not_(bits)


def _barrier_result(w: Writer, instruction: Instruction) -> None:
    """The result of a reducing barrier, read after its release."""
    count = w.load_field(Warp, w.warp, "barrier_value", I32)
    if instruction.mods[0] == "popc":
        w.assign(instruction.operands[0], count, _U32, w.guard(instruction))
        return
    everyone = w.load_field(Warp, w.warp, "barrier_expected", I32)
    wanted = everyone if instruction.mods[0] == "and" else ir.Constant(I32, 1)
    truth = w.b.icmp_signed(">=", count, wanted)
    w.assign(instruction.operands[0], truth, _PRED, w.guard(instruction))


def _bar_arrive(w: Writer, instruction: Instruction) -> None:
    """`bar.arrive`: counts and goes on."""
    number, count = (_value(w, operand, instruction) for operand in instruction.operands[:2])
    number = _checked(w, instruction, number, count)
    site = ir.Constant(I32, mark_site(w, instruction))
    w.native("arrive_only", ir.VoidType(), w.warp, site, number, count, w.guarded_mask(w.guard(instruction)))


def _end_if(w: Writer, stop: ir.Value, why: str) -> None:
    """Returns to the scheduler, which ends the launch, where native code answered so."""
    out, go = w.function.append_basic_block(why), w.function.append_basic_block("go")
    w.b.cbranch(w.b.icmp_unsigned("!=", stop, ir.Constant(I32, 0)), out, go)
    w.b.position_at_end(out)
    w.b.ret(ir.Constant(I32, int(Exit.STOP)))
    w.b.position_at_end(go)


def _trap(w: Writer, instruction: Instruction) -> None:
    site = ir.Constant(I32, mark_site(w, instruction))
    lanes = w.guarded_mask(w.guard(instruction))
    stop = w.native("trap", I32, w.warp, site, lanes)
    _end_if(w, stop, "trapped")


def _stack_check(w: Writer, instruction: Instruction) -> None:
    """Ends the launch where a thread's stack has no room for so many more bytes."""
    end = w.plan.local[STACK_NAME] + STACK_BYTES
    used = w.e.add(w.read(instruction.operands[1].name), instruction.operands[0].value)
    full = w.b.and_(w.bits32(w.e.icmp(">", used, end)), w.mask)
    site = ir.Constant(I32, mark_site(w, instruction))
    stop = w.native("stack_overflow", I32, w.warp, site, full)
    _end_if(w, stop, "overflowed")


def _nanosleep(w: Writer, instruction: Instruction) -> None:
    time = _value(w, instruction.operands[0], instruction)
    w.native("virtual_sleep", ir.VoidType(), w.warp, w.b.zext(time, I64), w.guarded_mask(w.guard(instruction)))


def _fence(w: Writer, instruction: Instruction) -> None:
    if instruction.mods[:2] == ("proxy", "async"):
        return w.native("fence_proxy", ir.VoidType(), w.warp, w.guarded_mask(w.guard(instruction)))
    if "proxy" in instruction.mods or "mbarrier_init" in instruction.mods:
        return None
    wide = int(any(m in ("gl", "sys", "gpu", "cluster") for m in instruction.mods))
    return w.native("fence", ir.VoidType(), w.warp, ir.Constant(I32, wide))


def _call(w: Writer, instruction: Instruction) -> None:
    if instruction.opcode == "call.vprintf":
        return _printf(w, instruction)
    if instruction.opcode == "call.assertfail":
        return _assert(w, instruction)
    raise Unsupported(f"`{instruction.opcode}`", instruction)


def _pointers(w: Writer, operand, instruction: Instruction, name: str) -> ir.Value:
    place = w.buffer(name, 256)
    w.b.store(w.spread(w.typed(operand, TYPES["u64"], instruction)), place, align=64)
    return place


def _printf(w: Writer, instruction: Instruction) -> None:
    result, text, values = instruction.operands
    texts = _pointers(w, text, instruction, "texts")
    arguments = _pointers(w, values, instruction, "values")
    lanes = w.guarded_mask(w.guard(instruction))
    w.native("device_printf", ir.VoidType(), w.warp, lanes, texts, arguments)
    if isinstance(result, Register):
        w.assign(result, ir.Constant(I32, 1), _U32, w.guard(instruction))


def _assert(w: Writer, instruction: Instruction) -> None:
    texts = _pointers(w, instruction.operands[0], instruction, "texts")
    site = ir.Constant(I32, mark_site(w, instruction))
    w.native("device_assert", ir.VoidType(), w.warp, site, w.guarded_mask(w.guard(instruction)), texts)


def _nothing(w: Writer, instruction: Instruction) -> None:
    return


def _bar(w: Writer, instruction: Instruction) -> None:
    if "cluster" in instruction.mods:
        return cluster_arrive(w, instruction)
    if "arrive" in instruction.mods:
        return _bar_arrive(w, instruction)
    if "warp" in instruction.mods:
        from simt.codegen.warp_level import warp_barrier

        return warp_barrier(w, instruction)
    raise Unsupported(f"`{instruction.opcode}` inside a block", instruction)


HANDLERS = {
    "bar": _bar,
    "barrier": _bar,
    "barrier_result": _barrier_result,
    "stack_check": _stack_check,
    "trap": _trap,
    "brkpt": _trap,
    "nanosleep": _nanosleep,
    "membar": _fence,
    "fence": _fence,
    "call": _call,
    "prefetch": _nothing,
    "prefetchu": _nothing,
    "pmevent": _nothing,
    "discard": _nothing,
    "applypriority": _nothing,
    "griddepcontrol": _nothing,
}
