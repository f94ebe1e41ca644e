"""The oracle: a NumPy interpreter of one launch over `Op.eval`, 32 lanes at a time.

It shares with the compiled engine the parser, the control-flow graph, the rewriting of calls and of shared loads, and the
instruction table; registers, reconvergence, barriers, exchanges, memory and counters are written anew from the rules. Every
register is a (32,) array: there is no uniformity analysis to be wrong here.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from simt.codegen.merge import merge_shared_loads
from simt.codegen.prepare import Unsupported, prepare
from simt.events import Argument, Direction
from simt.ptx.cfg import Block, build
from simt.ptx.lines import student_line
from simt.ptx.reach import reachable
from simt.ptx.syntax import Immediate, Instruction, Module, Operand, Register, Sink, Special, Symbol
from simt.ptx.types import TYPES, Kind, PtxType
from tests.simt.reference_memory import PARAM_BASE, Memory

__all__ = ["Machine", "Outcome", "Stopped", "Warp", "run"]

ALL = np.ones(32, bool)
ARITHMETIC = {"add", "sub", "mul", "fma", "mad", "div", "rcp", "sqrt", "rsqrt", "ex2", "lg2", "sin", "cos"}
FLOATS = {"f32", "f64", "f16", "bf16", "f16x2", "bf16x2"}


class Stopped(Exception):
    """The launch ends here: a trap, a failed assertion, or warps that wait for ever."""


@dataclass
class Warp:
    """One warp: lanes that exist, lanes that live, who stands or waits before which basic block."""

    index: int
    alive: np.ndarray
    tid: tuple[np.ndarray, np.ndarray, np.ndarray]
    registers: dict[str, np.ndarray]
    local: np.ndarray
    pending: dict[int, np.ndarray] = field(default_factory=dict)
    parked: dict[int, np.ndarray] = field(default_factory=dict)
    waits_at: int | None = None  # number of the barrier
    forced: bool = False
    barrier_true: int = 0  # what a reducing barrier gave: threads with a true predicate, and all that came
    barrier_threads: int = 0


@dataclass
class Outcome:
    """What a launch gave: `outputs` by argument, `counters` by line (0 for none), whether it ran to its end."""

    outputs: dict[str, np.ndarray]
    counters: dict[int, dict[str, int]]
    finished: bool


def is_barrier(i: Instruction) -> bool:
    return i.name in ("bar", "barrier") and "warp" not in i.mods and "arrive" not in i.mods


def meets(i: Instruction) -> bool:
    """Lanes named by a mask come together here."""
    return (i.name in ("shfl", "vote", "match", "redux", "elect") and "sync" in i.mods) or i.opcode == "bar.warp.sync"


def unsigned(kind: PtxType) -> np.dtype:
    """How a register of this type is kept: bool, or an unsigned integer of at least 16 bits."""
    if kind.bits > 64:
        raise Unsupported(f"a register of {kind.bits} bits")
    return np.dtype(bool) if kind.bits == 1 else np.dtype(f"uint{max(kind.bits, 16)}")


class Machine:
    """A kernel with its operands resolved, and the state of the launch that runs."""

    def __init__(self, module: Module, kernel: str, block: Sequence[int], file_name: str = "kernel.cu"):
        self.module, self.block_dim, self.file_name = module, tuple(block), file_name
        function = prepare(module, module.functions[kernel])
        self.places: dict[str, int] = {}
        reached = [module.variables[name] for name in reachable(module, function.name).variables]
        self.variables = [*reached, *function.variables]
        self.shared_bytes = self._place("shared")
        self.local_bytes = -(-self._place("local") // 16) * 16
        self.param_bytes = 0
        for p in function.params:
            self.param_bytes = -(-self.param_bytes // p.align) * p.align
            self.places[p.name] = PARAM_BASE + self.param_bytes
            self.param_bytes += p.n_bytes
        shared = {v.name: self.places[v.name] for v in self.variables if v.space == "shared"}
        self.function = merge_shared_loads(function, shared)
        self.cfg = build(
            self.function, split_before=lambda i: is_barrier(i) or meets(i),
            split_after=lambda i: is_barrier(i) or i.name == "trap",
        )  # fmt: skip
        self.memory = Memory()
        self.grid: tuple[int, ...] = (1, 1, 1)
        self.block_index: tuple[int, ...] = (0, 0, 0)
        self.dynamic_bytes = 0
        self.barriers: dict[int, list[int]] = {}
        self.steps: dict[int, list[Callable]] = {}

    def _place(self, space: str) -> int:
        """Static variables one after the other, extern arrays all at their end."""
        offset, late = 0, []
        for v in self.variables:
            if v.space != space:
                continue
            if v.extern or v.count == 0:
                late.append(v)
                continue
            align = max(v.align, 16) if space == "shared" and v.n_bytes >= 16 else v.align
            offset = -(-offset // align) * align
            self.places[v.name] = offset
            offset += v.n_bytes
        for v in late:
            align = max(v.align, 16)
            self.places[v.name] = -(-offset // align) * align
        return offset

    def line(self, instruction: Instruction) -> int:
        return student_line(instruction.location, self.module, self.file_name) or 0

    # --- operands

    def read(self, warp: Warp, operand: Operand, kind: PtxType) -> np.ndarray:
        """An operand's 32 values as `kind`."""
        match operand:
            case Register(name, negated):
                held = warp.registers[name]
                held = ~held if negated else held
            case Immediate():
                held = np.full(32, _literal(operand, kind), unsigned(kind))
            case Symbol(name, offset):
                held = np.full(32, self.places[name] + offset, np.uint64)
            case Special(name):
                held = self.special(warp, name)
            case _:
                raise Unsupported(f"operand {operand!r}")
        return _as_kind(held, kind)

    def write(self, warp: Warp, operand: Operand, value: np.ndarray, kind: PtxType, lanes: np.ndarray) -> None:
        """Puts typed values into a register's active lanes, extended as the type says."""
        if isinstance(operand, Sink):
            return
        held = warp.registers[operand.name]
        if kind.bits == 1:
            new = value.astype(bool)
        else:
            number = value.view(f"uint{kind.bits}")
            new = (number.view(f"int{kind.bits}") if kind.is_signed else number).astype(held.dtype)
        warp.registers[operand.name] = np.where(lanes, new, held)

    def special(self, warp: Warp, name: str) -> np.ndarray:
        stem, _, axis = name.removeprefix("%").partition(".")
        at, lane = "xyz".find(axis), np.arange(32, dtype=np.uint64)
        n_warps = -(-int(np.prod(self.block_dim)) // 32)
        below = (np.uint64(1) << lane) - np.uint64(1)
        values = {
            "tid": lambda: warp.tid[at], "ntid": lambda: self.block_dim[at], "ctaid": lambda: self.block_index[at],
            "nctaid": lambda: self.grid[at], "laneid": lambda: lane, "warpid": lambda: warp.index, "nwarpid": lambda: n_warps,
            "smid": lambda: 0, "nsmid": lambda: 1, "gridid": lambda: 0,
            "lanemask_eq": lambda: below + np.uint64(1), "lanemask_lt": lambda: below,
            "lanemask_le": lambda: 2 * below + np.uint64(1), "lanemask_gt": lambda: ~(2 * below + np.uint64(1)),
            "lanemask_ge": lambda: ~below, "dynamic_smem_size": lambda: self.dynamic_bytes,
            "total_smem_size": lambda: self.memory.shared.size,
        }  # fmt: skip
        if stem not in values:
            raise Unsupported(f"special register {name}")
        return np.broadcast_to(np.asarray(values[stem]()).astype(np.uint32), 32)

    def lanes(self, warp: Warp, instruction: Instruction, mask: np.ndarray) -> np.ndarray:
        """The running lanes whose guard is true."""
        if instruction.guard is None:
            return mask
        return mask & (warp.registers[instruction.guard.register] ^ instruction.guard.negated)

    # --- a launch

    def start_warps(self) -> list[Warp]:
        x, y, z = self.block_dim
        warps = []
        for index in range(-(-x * y * z // 32)):
            thread = np.arange(32 * index, 32 * index + 32, dtype=np.uint32)
            registers = {name: np.zeros(32, unsigned(kind)) for name, kind in self.function.registers.items()}
            local = np.full((32, self.local_bytes), 0xFF, np.uint8)
            tid = (thread % x, thread // x % y, thread // (x * y))
            warp = Warp(index, thread < x * y * z, tid, registers, local)
            warp.pending[0] = warp.alive.copy()
            warps.append(warp)
        return warps

    def run_block(self) -> None:
        self.memory.shared = np.full(-(-(self.shared_bytes_all()) // 4) * 4, 0xFF, np.uint8)[: self.shared_bytes_all()]
        self.barriers = {}
        warps = self.start_warps()
        while any(w.alive.any() for w in warps):
            moved = False
            for warp in warps:
                if warp.alive.any() and warp.waits_at is None:
                    self.run_warp(warp)
                    moved = True
            for number in sorted(self.barriers):
                moved |= self.release(number, warps)
            if not moved:
                raise Stopped("every warp waits")

    def shared_bytes_all(self) -> int:
        return -(-self.shared_bytes // 16) * 16 + self.dynamic_bytes if self.dynamic_bytes else self.shared_bytes

    def release(self, number: int, warps: list[Warp]) -> bool:
        arrived, expected, true = self.barriers[number]
        wanted = expected or sum(int(w.alive.sum()) for w in warps)
        if arrived < wanted:
            return False
        del self.barriers[number]
        for warp in warps:
            if warp.waits_at == number:
                warp.waits_at, warp.barrier_true, warp.barrier_threads = None, true, arrived
        return True

    def pick(self, warp: Warp) -> int:
        """The pending block of lowest rank, joined by lanes that wait there; else a parked group that may go on."""
        if warp.pending:
            index = min(warp.pending)
            if index in warp.parked:
                warp.pending[index] = warp.pending[index] | warp.parked.pop(index)
            return index
        for index in sorted(warp.parked):
            if warp.forced or (warp.parked[index] == warp.alive).all():
                warp.pending[index] = warp.parked.pop(index)
                return index
        if any(is_barrier(self.cfg.blocks[index].instructions[0]) for index in warp.parked):
            raise Stopped("a barrier that only part of a warp reaches")
        warp.forced = True
        return self.pick(warp)

    def run_warp(self, warp: Warp) -> None:
        """Runs until the warp waits at a barrier or has ended."""
        self.memory.local = warp.local
        while warp.alive.any() and warp.waits_at is None:
            index = self.pick(warp)
            self.run_basic_block(warp, self.cfg.blocks[index], warp.pending.pop(index))

    def run_basic_block(self, warp: Warp, block: Block, mask: np.ndarray) -> None:
        first = block.instructions[0] if block.instructions else None
        if first is not None and (is_barrier(first) or meets(first)) and not self.complete(warp, first, mask):
            warp.parked[block.index] = warp.parked.get(block.index, ~ALL) | mask
            return
        self.count(block, int(mask.sum()))
        if first is not None and is_barrier(first):
            self.arrive(warp, first, mask)
            self.go(warp, block.fall_through, mask)
            return
        if block.index not in self.steps:
            from tests.simt.reference_steps import step_of

            self.steps[block.index] = [step_of(self, instruction) for instruction in block.straight]
        for step in self.steps[block.index]:
            step(warp, mask)
        self.end(warp, block, mask)

    def complete(self, warp: Warp, first: Instruction, mask: np.ndarray) -> bool:
        """Whether every lane that must be there has come; a warp that waits in vain is let through once."""
        if is_barrier(first):
            return bool((mask == warp.alive).all())
        members = int(self.read(warp, first.operands[-1], TYPES["u32"])[mask.argmax()])
        named = np.array([members >> lane & 1 for lane in range(32)], bool)
        here = warp.forced or not (named & warp.alive & ~mask).any()
        warp.forced = False
        return here

    def arrive(self, warp: Warp, barrier: Instruction, mask: np.ndarray) -> None:
        operands = list(barrier.operands)
        true = 0
        if "red" in barrier.mods:
            true = int((self.read(warp, operands.pop(), TYPES["pred"]) & mask).sum())
        number, threads = ([int(self.read(warp, o, TYPES["u32"])[mask.argmax()]) for o in operands] + [0, 0])[:2]
        row = self.barriers.setdefault(number, [0, 0, 0])
        row[0], row[1], row[2] = row[0] + int(mask.sum()), threads, row[2] + true
        if "arrive" not in barrier.mods:
            warp.waits_at = number

    def go(self, warp: Warp, index: int | None, lanes: np.ndarray) -> None:
        """Lets lanes stand before a block; None leaves the kernel."""
        if not lanes.any():
            return
        if index is None:
            warp.alive = warp.alive & ~lanes
        else:
            warp.pending[index] = warp.pending.get(index, ~ALL) | lanes

    def end(self, warp: Warp, block: Block, mask: np.ndarray) -> None:
        last = block.terminator
        if last is None:
            return self.go(warp, block.fall_through, mask)
        taken = self.lanes(warp, last, mask)
        if last.name == "brx":
            chosen = self.read(warp, last.operands[0], TYPES["u32"])
            for number, target in enumerate(block.targets):
                self.go(warp, target, taken & (chosen == number))
        else:
            self.go(warp, self.jump(block, last), taken)
        if last.name == "bra" and taken.any() and (mask & ~taken).any():
            self.memory.counts[self.line(last)]["divergent_branches"] += 1
        return self.go(warp, block.fall_through if last.guard else None, mask & ~taken)

    def jump(self, block: Block, last: Instruction) -> int | None:
        """Where a jump leads; a conditional one to a bare `ret` leaves at once, as the hardware's predicated EXIT does."""
        if last.name != "bra":
            return None
        target = self.cfg.blocks[block.targets[0]]
        bare = target.leaves and not target.straight and not target.successors
        return None if bare and last.guard else target.index

    def count(self, block: Block, n_lanes: int) -> None:
        for i in block.instructions:
            row = self.memory.counts[self.line(i)]
            row["instructions"] += 1
            row["lane_instructions"] += n_lanes
            row["branches"] += i.name == "bra" and i.guard is not None
            row["barriers"] += i.name in ("bar", "barrier") and "warp" not in i.mods
            row["shuffles"] += i.name == "shfl"
            if FLOATS & set(i.mods):
                fused = i.name in ("fma", "mad")
                row["fma_lane_instructions"] += n_lanes * fused
                row["flops"] += n_lanes * (i.name in ARITHMETIC) * (1 + fused) * (2 if i.mods[-1].endswith("x2") else 1)


def _literal(operand: Immediate, kind: PtxType) -> int | bool:
    value = operand.value
    if operand.kind == "f64" and kind.kind is Kind.FLOAT and kind.bits == 32:
        value = struct.unpack("<I", struct.pack("<f", struct.unpack("<d", struct.pack("<Q", value))[0]))[0]
    return bool(value & 1) if kind.bits == 1 else value & ((1 << max(kind.bits, 16)) - 1)


def _as_kind(held: np.ndarray, kind: PtxType) -> np.ndarray:
    if kind.bits == 1:
        return held.astype(bool)
    number = held.view(f"int{8 * held.dtype.itemsize}") if kind.is_signed else held
    return number.astype(f"{'int' if kind.is_signed else 'uint'}{kind.bits}").view(kind.dtype)


def run(
    machine: Machine, grid: Sequence[int], arguments: Sequence[Argument], dynamic_bytes: int = 0,
    constants: dict[str, bytes] | None = None,
) -> Outcome:  # fmt: skip
    """One launch; arguments are copied in."""
    machine.grid, machine.dynamic_bytes = tuple(grid), dynamic_bytes
    memory = machine.memory = Memory()
    for v in machine.variables:
        if v.space in ("global", "const"):
            data = np.zeros(max(v.n_bytes, 1), np.uint8)
            init = (constants or {}).get(v.name, v.init)
            data[: len(init)] = np.frombuffer(init, np.uint8)
            machine.places[v.name] = memory.add(data, v.space == "global")
            for offset, symbol, addend in v.relocations:
                data[offset : offset + 8] = np.frombuffer(struct.pack("<Q", machine.places[symbol] + addend), np.uint8)
    params, outputs = np.zeros(machine.param_bytes, np.uint8), {}
    memory.add(params, False, PARAM_BASE)
    for argument, parameter in zip(arguments, machine.function.params, strict=True):
        raw = np.array(argument.value).reshape(-1).view(np.uint8)
        if argument.direction is not Direction.SCALAR:
            ready = (
                argument.initialised if argument.initialised is not None else argument.direction is not Direction.OUT
            )
            raw = raw if ready or argument.shadow is not None else np.full(raw.size, 0xFF, np.uint8)
            outputs[argument.name] = (raw, np.asarray(argument.value))
            raw = np.frombuffer(struct.pack("<Q", memory.add(raw, True) + argument.offset_bytes), np.uint8)
        at = machine.places[parameter.name] - PARAM_BASE
        params[at : at + parameter.n_bytes] = raw[: parameter.n_bytes]
    finished = True
    try:
        for z, y, x in np.ndindex(*reversed(machine.grid)):
            machine.block_index = (x, y, z)
            with np.errstate(all="ignore"):
                machine.run_block()
    except Stopped:
        finished = False
    arrays = {name: raw.view(like.dtype).reshape(like.shape) for name, (raw, like) in outputs.items()}
    return Outcome(arrays, {line: dict(row) for line, row in memory.counts.items()}, finished)
