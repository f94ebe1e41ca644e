"""A planned kernel → LLVM IR: one function for full warps, one for warps whose lanes part.

Full code jumps from block to block with all 32 lanes. Where lanes part it notes who goes where in `Warp.pending` and
returns; masked code then always runs the pending block of lowest rank, so that lanes meet again at the first block they
share, and hands back to full code once all 32 stand at one block.
"""

from __future__ import annotations

from llvmlite import ir

from simt.codegen import (
    async_copies,
    clusters,
    control,
    division,
    matrix_ops,
    matrix_products,
    mbarriers,
    memory_access,
    warp_level,
    wgmma,
)
from simt.codegen.definedness import check_use, follow
from simt.codegen.emitter import I32, I64
from simt.codegen.plan import Plan, is_synchronising
from simt.codegen.pure import lower_pure
from simt.codegen.stepping import step_begins, step_ends, step_parts
from simt.codegen.wgmma_registers import watch
from simt.codegen.writer import PTR, Writer
from simt.engine.state import Exit, Thread, Warp
from simt.ptx.cfg import Block as BasicBlock
from simt.ptx.syntax import Instruction

__all__ = ["lower"]

MOST_STRAIGHT = 512  # instructions in one block of LLVM, whose effort grows with the square of a block

STRUCTURAL = (
    memory_access.HANDLERS | warp_level.HANDLERS | control.HANDLERS | async_copies.HANDLERS | mbarriers.HANDLERS
    | matrix_ops.HANDLERS | matrix_products.HANDLERS | division.HANDLERS | wgmma.HANDLERS
    | clusters.HANDLERS
)  # fmt: skip


def lower(plan: Plan, masked: bool) -> str:
    """The text of an LLVM module with `full` or `masked`: `i32 (Warp*)` answering with an `Exit`.

    Raises:
        Unsupported: an instruction that simt does not run.
    """
    module = ir.Module(name="kernel")
    writer = Writer(module, plan, "masked" if masked else "full", masked)
    (_Masked if masked else _Full)(writer).run()
    return str(module)


class _Flow:
    """What full and masked code share: the order of blocks and their counts."""

    def __init__(self, writer: Writer):
        self.w, self.plan = writer, writer.plan
        self.targets = [writer.function.append_basic_block(f"b{block.index}") for block in self.plan.cfg.blocks]

    def instructions(self, block: BasicBlock) -> None:
        w = self.w
        doubt = bool(self.plan.doubtful)
        for number, instruction in enumerate(block.straight, 1):
            if number % MOST_STRAIGHT == 0:
                rest = w.function.append_basic_block()
                w.b.branch(rest)
                w.b.position_at_end(rest)
            if self.plan.steps is not None:
                step_begins(w, instruction)
            handler = STRUCTURAL.get(instruction.name)
            if handler is not None:
                handler(w, instruction)
            else:
                lower_pure(w, instruction)
            if doubt and not w.b.block.is_terminated:
                check_use(w, instruction)
                follow(w, instruction)
            if self.plan.states and not w.b.block.is_terminated:
                watch(w, instruction)
            if self.plan.steps is not None and not w.b.block.is_terminated:
                step_ends(w, instruction)
        last = block.terminator
        if last is not None and self.plan.steps is not None and not w.b.block.is_terminated:
            step_parts(w, last)
        if last is None or last.guard is None:
            return
        if doubt:
            check_use(w, last)
        w.read(last.guard.register)  # before the registers are stored

    def count(self, index: int, column: int, by: ir.Value | int) -> None:
        """Adds to one of the four counts of a basic block."""
        w = self.w
        place = w.at(w.runs, (4 * index + column) * 8)
        by = ir.Constant(I64, by) if isinstance(by, int) else by
        w.b.store(w.b.add(w.b.load(place, typ=I64), by), place)

    def burn(self, amount: int) -> ir.Value:
        """Takes instructions from the slice's fuel; answers with what is left."""
        w = self.w
        place = w.field(Thread, w.thread, "fuel")
        left = w.b.sub(w.b.load(place, typ=I64), ir.Constant(I64, max(amount, 1)))
        w.b.store(left, place)
        return left

    def pend(self, index: int, lanes: ir.Value) -> None:
        """Lets `lanes` wait before a block."""
        w = self.w
        pending = w.load_field(Warp, w.warp, "pending", PTR)
        place = w.at(pending, 4 * index)
        w.b.store(w.b.or_(w.b.load(place, typ=I32), lanes), place)

    def leave(self, code: Exit) -> None:
        self.w.b.ret(ir.Constant(I32, int(code)))

    def jump_to(self, index: ir.Value) -> None:
        """To the basic block of this number; another number ends the launch."""
        w = self.w
        nowhere = w.function.append_basic_block("nowhere")
        switch = w.b.switch(index, nowhere)
        for number, target in enumerate(self.targets):
            switch.add_case(ir.Constant(I32, number), target)
        w.b.position_at_end(nowhere)
        self.leave(Exit.STOP)


class _Full(_Flow):
    def run(self) -> None:
        w = self.w
        for block in self.plan.cfg.blocks:  # masked code, made later, must not need sites that are not there
            leaves = block.leaves or any(self.plan.leaves_bare(target) for target in block.targets)
            if block.terminator is not None and (leaves or self.plan.doubtful):
                control.mark_site(w, block.terminator)
        resume = w.load_field(Warp, w.warp, "resume", I32)
        self.jump_to(resume)
        for block in self.plan.cfg.blocks:
            w.b.position_at_end(self.targets[block.index])
            self._block(block)

    def _block(self, block: BasicBlock) -> None:
        w, plan = self.w, self.plan
        if block.index in plan.loop_cost:
            self._check_fuel(block.index)
        self.count(block.index, 0, 1)
        w.enter_block(None)
        first = block.instructions[0] if block.instructions else None
        if first is not None and control.is_barrier(first):
            w.leave_block(frozenset())
            if plan.steps is not None:
                step_begins(w, first)
            control.arrive(w, first, block.index)
            w.store_field(Warp, w.warp, "resume", block.fall_through)
            self.leave(Exit.BARRIER)
            return
        self.instructions(block)
        if w.b.block.is_terminated:
            return
        w.leave_block(plan.live.live_out[block.index])
        self._end(block)

    def _check_fuel(self, index: int) -> None:
        w = self.w
        left = self.burn(self.plan.loop_cost[index])
        out, go = w.function.append_basic_block(), w.function.append_basic_block()
        w.b.cbranch(w.b.icmp_signed("<", left, ir.Constant(I64, 0)), out, go)
        w.b.position_at_end(out)
        w.store_field(Warp, w.warp, "resume", index)
        self.leave(Exit.FUEL)
        w.b.position_at_end(go)

    def _end(self, block: BasicBlock) -> None:
        w, last = self.w, block.terminator
        if last is None:
            self._go(block.fall_through)
        elif last.name == "brx":
            self._indexed(block, last)
        elif last.guard is None:
            if last.name == "bra":
                self._go(block.targets[0])
            else:
                self.leave(Exit.DONE)
        else:
            self._branch(block, last, w.guard(last))

    def _go(self, index: int | None) -> None:
        if index is None:
            self.leave(Exit.DONE)
        else:
            self.w.b.branch(self.targets[index])

    def _go_or_leave(self, index: int | None, last: Instruction) -> None:
        if index is None:
            control.lanes_leave(self.w, last, self.w.mask)
        self._go(index)

    def _branch(self, block: BasicBlock, last: Instruction, condition: ir.Value) -> None:
        w = self.w
        leaves = last.name != "bra" or self.plan.leaves_bare(block.targets[0])
        taken = None if leaves else block.targets[0]
        if not isinstance(condition.type, ir.VectorType):
            then, other = w.function.append_basic_block(), w.function.append_basic_block()
            w.b.cbranch(condition, then, other)
            w.b.position_at_end(then)
            self._go_or_leave(taken, last)
            w.b.position_at_end(other)
            self._go(block.fall_through)
            return
        bits = w.bits32(condition)
        names = ("all", "some", "none", "parted")
        every, some, none, parted = (w.function.append_basic_block(n) for n in names)
        w.b.cbranch(w.b.icmp_unsigned("==", bits, ir.Constant(I32, 0xFFFFFFFF)), every, some)
        w.b.position_at_end(every)
        self._go_or_leave(taken, last)
        w.b.position_at_end(some)
        w.b.cbranch(w.b.icmp_unsigned("==", bits, ir.Constant(I32, 0)), none, parted)
        w.b.position_at_end(none)
        self._go(block.fall_through)
        w.b.position_at_end(parted)
        self._part(block, last, bits, taken)

    def _part(self, block: BasicBlock, last: Instruction, bits: ir.Value, taken: int | None) -> None:
        w = self.w
        self.count(block.index, 3, 1)
        if taken is None:
            control.lanes_leave(w, last, bits)
        else:
            self.pend(taken, bits)
        if block.fall_through is not None:
            self.pend(block.fall_through, w.b.not_(bits))
        self.leave(Exit.DIVERGED)

    def _indexed(self, block: BasicBlock, last: Instruction) -> None:
        """`brx.idx`: every lane is noted at its target and masked code sorts them out."""
        for index, lanes in control.indexed_targets(self.w, block, last):
            self.pend(index, lanes)
        self.leave(Exit.DIVERGED)


class _Masked(_Flow):
    def run(self) -> None:
        w = self.w
        self.head = w.function.append_basic_block("head")
        self.mask_slot = w.b.alloca(I32)
        w.b.branch(self.head)
        w.b.position_at_end(self.head)
        self._dispatch()
        for block in self.plan.cfg.blocks:
            w.b.position_at_end(self.targets[block.index])
            self._block(block)

    def _dispatch(self) -> None:
        w = self.w
        fuel = w.load_field(Thread, w.thread, "fuel", I64)
        out, choose, none, run, back, go = (w.function.append_basic_block() for _ in range(6))
        w.b.cbranch(w.b.icmp_signed("<", fuel, ir.Constant(I64, 0)), out, choose)
        w.b.position_at_end(out)
        self.leave(Exit.FUEL)
        w.b.position_at_end(choose)
        index = w.native("pick", I32, w.warp)
        w.b.cbranch(w.b.icmp_signed("<", index, ir.Constant(I32, 0)), none, run)
        w.b.position_at_end(none)
        alive = w.load_field(Warp, w.warp, "alive", I32)
        dead = w.b.icmp_unsigned("==", alive, ir.Constant(I32, 0))
        w.b.ret(w.b.select(dead, ir.Constant(I32, int(Exit.DONE)), ir.Constant(I32, int(Exit.STUCK))))
        w.b.position_at_end(run)
        pending = w.load_field(Warp, w.warp, "pending", PTR)
        place = w.b.gep(pending, [index], source_etype=I32)
        mask = w.b.load(place, typ=I32)
        w.b.store(ir.Constant(I32, 0), place)
        w.b.store(mask, self.mask_slot)
        w.b.cbranch(w.b.icmp_unsigned("==", mask, ir.Constant(I32, 0xFFFFFFFF)), back, go)
        w.b.position_at_end(back)
        w.b.store(index, w.field(Warp, w.warp, "resume"))
        self.leave(Exit.RECONVERGED)
        w.b.position_at_end(go)
        self.jump_to(index)

    def _block(self, block: BasicBlock) -> None:
        w, plan = self.w, self.plan
        mask = w.b.load(self.mask_slot, typ=I32)
        w.enter_block(mask)
        first = block.instructions[0] if block.instructions else None
        if first is not None and control.is_barrier(first):
            self._barrier(block, first)
            return
        if first is not None and is_synchronising(first):
            warp_level.wait_for_lanes(w, first, block.index, self.head)
        self.burn(len(block.instructions))
        self.count(block.index, 1, 1)
        counted = w.native("llvm.ctpop.i32", I32, mask)
        self.count(block.index, 2, w.b.zext(counted, I64))
        self.instructions(block)
        if w.b.block.is_terminated:
            return
        w.leave_block(plan.live.live_out[block.index])
        self._end(block)

    def _barrier(self, block: BasicBlock, barrier: Instruction) -> None:
        """All lanes that are left wait together; while some are elsewhere, these are parked."""
        w = self.w
        self.burn(1)
        alive = w.load_field(Warp, w.warp, "alive", I32)
        whole, part = w.function.append_basic_block("whole"), w.function.append_basic_block("part")
        w.b.cbranch(w.b.icmp_unsigned("==", alive, w.mask), whole, part)
        w.b.position_at_end(part)
        control.park(w, block.index, control.mark_site(w, barrier))
        w.b.branch(self.head)
        w.b.position_at_end(whole)
        self.count(block.index, 1, 1)
        counted = w.native("llvm.ctpop.i32", I32, w.mask)
        self.count(block.index, 2, w.b.zext(counted, I64))
        if self.plan.steps is not None:
            step_begins(w, barrier)
        control.arrive(w, barrier, block.index)
        if block.fall_through is not None:
            self.pend(block.fall_through, w.mask)
        self.leave(Exit.BARRIER)

    def _end(self, block: BasicBlock) -> None:
        w, last = self.w, block.terminator
        if last is None:
            self._all_to(block.fall_through, last)
        elif last.name == "brx":
            for index, lanes in control.indexed_targets(w, block, last):
                self.pend(index, w.b.and_(lanes, w.mask))
            w.b.branch(self.head)
        elif last.guard is None:
            self._all_to(block.targets[0] if last.name == "bra" else None, last)
        else:
            self._branch(block, last)

    def _all_to(self, index: int | None, last: Instruction | None) -> None:
        w = self.w
        if index is None:
            control.lanes_leave(w, last, w.mask)
        else:
            self.pend(index, w.mask)
        w.b.branch(self.head)

    def _branch(self, block: BasicBlock, last: Instruction) -> None:
        w = self.w
        bits = w.bits32(w.guard(last))
        taken, stay = w.b.and_(bits, w.mask), w.b.and_(w.b.not_(bits), w.mask)
        zero = ir.Constant(I32, 0)
        parted = w.b.and_(w.b.icmp_unsigned("!=", taken, zero), w.b.icmp_unsigned("!=", stay, zero))
        self.count(block.index, 3, w.b.zext(parted, I64))
        if last.name == "bra" and not self.plan.leaves_bare(block.targets[0]):
            self.pend(block.targets[0], taken)
        else:
            control.lanes_leave(w, last, taken)
        if block.fall_through is not None:
            self.pend(block.fall_through, stay)
        else:
            control.lanes_leave(w, last, stay)
        w.b.branch(self.head)
