"""What the instructions of a basic block ask of an SM: issue slots, pipes, and the time a lone warp takes.

PTX is counted, not machine code. Where ptxas folds or expands an instruction its row says so; rows were read off
`nvdisasm` listings of basic.cu and gemm.cu for sm_90, not off any measured time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from simt.codegen.plan import Plan
from simt.isa.fragments import shape_of
from simt.ptx.cfg import Block
from simt.ptx.syntax import Address, Immediate, Instruction, Register
from simt.ptx.usedef import defs, uses

__all__ = ["PIPES", "BlockMix", "Latencies", "block_mixes", "elapsed"]

PIPES = ("issue", "fma", "alu", "xu", "fp64", "tensor_flops", "shuffles")
UNROLL = 4  # ptxas unrolls a counted loop of one block so; `rowsum_thread`: 4 loads in PTX, 16 in the machine code

STORED = "stores"  # stands among registers for the values that stores wait for
_FREE = frozenset(
    ["mov", "cvta", "ret", "exit", "pragma", "bra.uni", "call", "activemask", "isspacep", "elect"]
)  # folded into operands, or once a thread
_FLOAT_SPECIAL = frozenset(["rcp", "rsqrt", "sqrt", "ex2", "lg2", "sin", "cos", "tanh"])
_MEMORY = frozenset(["ld", "ldu", "st", "atom", "red", "cp", "ldmatrix", "stmatrix", "wmma", "prefetch"])
_SYNCHRONISING = frozenset(
    ["bar", "barrier", "membar", "fence", "vote", "match", "redux", "mbarrier", "nanosleep", "wgmma", "griddepcontrol"]
)
# Slots of operations that expand: (issue, fma, alu, xu). CUDA C Programming Guide, "Arithmetic Instructions", calls
# division and square root in round-to-nearest several instructions; counts from listings of sm_90.
_EXPANDED = {
    ("div", "f32", "rn"): (9, 7, 1, 1), ("div", "f32", "full"): (4, 3, 0, 1), ("div", "f32", "approx"): (2, 1, 0, 1),
    ("sqrt", "f32", "rn"): (8, 6, 1, 1), ("rcp", "f32", "rn"): (6, 4, 1, 1),
    ("div", "int32", ""): (22, 8, 12, 2), ("rem", "int32", ""): (24, 9, 13, 2),
    ("div", "int64", ""): (70, 30, 38, 2), ("rem", "int64", ""): (72, 31, 39, 2),
}  # fmt: skip


# Time of a product by type over half precision's, by peak rates of the H100 whitepaper, table 2; and the share of the peak
# that mma.sync reaches, which the model's rate of the tensor pipe is for (`Rates.tensor_efficiency`).
_TENSOR_COST = {"f64": 14.8, "tf32": 2.0, "s8": 0.5, "u8": 0.5, "e4m3": 0.5, "e5m2": 0.5}
MMA_SYNC_SHARE = 0.629


@dataclass(frozen=True, slots=True)
class Latencies:
    """Cycles until a result can be used; loads are given site by site."""

    arithmetic: float
    special: float
    double: float
    shared: float
    shuffle: float
    barrier: float
    tensor: float


@dataclass(frozen=True, slots=True)
class BlockMix:
    """One basic block: `slots` warp instructions by `PIPES` (flops for the tensor pipe), and whether ptxas unrolls it."""

    slots: tuple[float, ...]
    unrolled: bool


def block_mixes(plan: Plan) -> list[BlockMix]:
    """Per basic block of the plan, in its order."""
    return [_mix(plan, block) for block in plan.cfg.blocks]


def _mix(plan: Plan, block: Block) -> BlockMix:
    unrolled = is_unrolled(block)
    total = [0.0] * len(PIPES)
    for instruction in block.instructions:
        share = 1 / UNROLL if unrolled and _counts_rounds(instruction, block) else 1.0
        on_uniform = _is_uniform(plan, instruction)
        for index, amount in enumerate(_slots(instruction)):
            if not (on_uniform and PIPES[index] in ("fma", "alu")):
                total[index] += share * amount
    return BlockMix(tuple(total), unrolled)


def _is_uniform(plan: Plan, instruction: Instruction) -> bool:
    """Whether the uniform datapath computes it, once for the warp: integers that are the same in all lanes (sm_75 and later)."""
    name = _written(instruction)
    return bool(name) and plan.is_uniform(name) and _width(instruction.mods) in ("int32", "int64", "pred")


def is_unrolled(block: Block) -> bool:
    """A loop of one block that counts down to a constant by more than one, as NVVM leaves it when it has unrolled."""
    last = block.terminator
    if block.index not in block.targets or last is None or last.guard is None:
        return False
    steps = {_written(i): i for i in block.instructions if i.name == "add" and isinstance(i.operands[-1], Immediate)}
    test = next((i for i in block.instructions if last.guard.register in defs(i)), None)
    if test is None or test.name != "setp" or test.mods[0] != "ne" or not isinstance(test.operands[-1], Immediate):
        return False
    counter = test.operands[1]
    step = steps.get(counter.name) if isinstance(counter, Register) else None
    amount = step.operands[-1] if step is not None else None
    return isinstance(amount, Immediate) and _signed(amount.value) not in (-1, 1)


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value - (1 << 32) if 1 << 31 <= value < 1 << 32 else value


def _written(instruction: Instruction) -> str:
    return next(iter(defs(instruction)), "")


def _counts_rounds(instruction: Instruction, block: Block) -> bool:
    """Whether it moves a counter or pointer, tests or jumps: once for all rounds that ptxas joins."""
    if instruction is block.terminator or instruction.name == "setp":
        return True
    name = _written(instruction)
    return instruction.name == "add" and name in uses(instruction) and isinstance(instruction.operands[-1], Immediate)


def _width(mods: tuple[str, ...]) -> str:
    """f32, f64, half, int32, int64 or pred, by the last type in the opcode."""
    for mod in reversed(mods):
        if mod in ("f16", "f16x2", "bf16", "bf16x2"):
            return "half"
        if mod in ("f32", "f64", "pred"):
            return mod
        if mod in ("s64", "u64", "b64"):
            return "int64"
        if mod in ("s32", "u32", "b32", "s16", "u16", "b16", "s8", "u8"):
            return "int32"
    return "int32"


def _slots(instruction: Instruction) -> tuple[float, ...]:
    """Warp instructions by `PIPES`."""
    name, mods = instruction.name, instruction.mods
    if name in _FREE or f"{name}.{'.'.join(mods[:1])}" in _FREE or (name == "ld" and mods[:1] == ("param",)):
        return (0,) * 7
    width = _width(mods)
    for rounding in ("rn", "full", "approx", ""):
        row = _EXPANDED.get((name, width, rounding))
        if row is not None and (not rounding or rounding in mods):
            return (*row, 0, 0, 0)
    if _is_product(name, mods):
        m, n, k = shape_of(mods)
        flops = 2 * m * n * k * next((cost for type_, cost in _TENSOR_COST.items() if type_ in mods), 1.0)
        if name == "wgmma":  # one instruction of four warps, at the full rate
            return (1, 0, 0, 0, 0, flops / 4 * MMA_SYNC_SHARE, 0)
        return (max(1, m * n * k / 2048), 0, 0, 0, 0, flops, 0)
    if name == "shfl":
        return (1, 0, 0, 0, 0, 0, 1)
    if name in _MEMORY or name in _SYNCHRONISING:
        return (1,) + (0,) * 6
    return _arithmetic_slots(name, mods, width)


def _is_product(name: str, mods: tuple[str, ...]) -> bool:
    return name == "mma" or (name in ("wmma", "wgmma") and mods[:1] in (("mma",), ("mma_async",)))


def _arithmetic_slots(name: str, mods: tuple[str, ...], width: str) -> tuple[float, ...]:
    if name in _FLOAT_SPECIAL:
        return (1, 0, 0, 1, 0, 0, 0)
    if name == "cvt":
        types = [mod for mod in mods if mod[0] in "fsub" and mod[1:2].isdigit()]
        to_float = types[:1] == ["f32"] and types[-1] in (
            "s32",
            "u32",
            "s16",
            "u16",
            "s8",
            "u8",
        )  # I2FP, beside the ALU
        both_integers = all(mod[0] in "sub" and not mod.startswith("bf") for mod in types)
        return (1, 0, 1, 0, 0, 0, 0) if both_integers or to_float else (1, 0, 0, 1, 0, 0, 0)
    if width == "f64" and name in ("add", "sub", "mul", "fma", "mad"):
        return (1, 0, 0, 0, 1, 0, 0)
    if width in ("f32", "half") and name in ("add", "sub", "mul", "fma", "mad"):
        return (1, 1, 0, 0, 0, 0, 0)
    if name in ("mul", "mad"):  # IMAD: half the rate of FFMA
        wide = 4 if width == "int64" and "wide" not in mods else 1
        return (wide, 2 * wide, 0, 0, 0, 0, 0)
    amount = 2 if width == "int64" else 1
    return (amount, 0, amount, 0, 0, 0, 0)


def elapsed(plan: Plan, mixes: Sequence[BlockMix], latencies: Latencies, loads: Mapping[int, float]) -> list[float]:
    """Cycles that a lone warp takes for each basic block.

    An instruction starts when its operands are there; loads go first, as ptxas places them, and delay only what uses
    them, in a later block too. Stores wait for their values without holding up the warp, until a barrier, another round
    of a loop or the end, or a load from the same memory that may read what they write: a warp issues these in their order.
    A block takes at least a cycle for each instruction.

    Args:
        mixes: of the plan's blocks.
        loads: site index → cycles until its value can be used.
    """
    carried: dict[int, dict[str, float]] = {}
    found = []
    for block, mix in zip(plan.cfg.blocks, mixes, strict=True):
        start: dict[str, float] = {}
        for before in block.predecessors:
            for name, left in carried.get(before, {}).items():
                start[name] = max(start.get(name, 0.0), left)
        time, ready = _dataflow(plan, block, latencies, loads, start)
        if mix.unrolled:
            without, _ = _dataflow(plan, block, latencies, dict.fromkeys(loads, 0.0), {})
            time = without + (time - without) / UNROLL
        time = max(time, mix.slots[0])
        if _enters_loop(plan, block):
            time = max(time, max(ready.values(), default=0.0))  # what a loop uses is waited for once, not in each round
        carried[block.index] = {name: at - time for name, at in ready.items() if at > time}
        found.append(time)
    return found


def _enters_loop(plan: Plan, block: Block) -> bool:
    return any(loop.header in block.successors and block.index not in loop.blocks for loop in plan.cfg.loops)


def _dataflow(
    plan: Plan, block: Block, latencies: Latencies, loads: Mapping[int, float], start: Mapping[str, float]
) -> tuple[float, dict[str, float]]:
    """(when the last instruction is done, when each register is ready), counted from the block's start."""
    ready = dict(start)
    sent: list[tuple[Instruction, float]] = []
    end = 0.0
    for instruction in block.instructions:
        begin = max((ready.get(name, 0.0) for name in uses(instruction)), default=0.0)
        if instruction.name in ("st", "red"):
            ready[STORED] = max(ready.get(STORED, 0.0), begin)
            sent.append((instruction, begin))
            continue
        if instruction.name == "ld":
            begin = max([begin, *(at for store, at in sent if _may_meet(store, instruction))])
        if instruction.name in ("bar", "barrier"):
            begin = max(begin, ready.get(STORED, 0.0))
        site = plan.sites.get(id(instruction))
        loaded = loads.get(site) if site is not None else None
        done = begin + (loaded if loaded is not None else _latency(instruction, latencies))
        for name in defs(instruction):
            ready[name] = done
        end = max(end, begin if loaded is not None else done)
    if block.leaves or any(target <= block.index for target in block.successors):
        end = max(end, ready.get(STORED, 0.0))
    return end, ready


def _may_meet(store: Instruction, load: Instruction) -> bool:
    """Whether the compiler must take it that `load` reads what `store` writes.

    Not in other memory, nor through the read-only path, nor at another offset from the same register.
    """
    if load.mods[0] != store.mods[0] or "nc" in load.mods:
        return False
    here, there = (next(o for o in i.operands if isinstance(o, Address)) for i in (store, load))
    return here.base != there.base or here.offset == there.offset


def _latency(instruction: Instruction, latencies: Latencies) -> float:
    name, mods = instruction.name, instruction.mods
    issue = _slots(instruction)[0]
    if not issue:
        return 0.0
    if name == "shfl":
        return latencies.shuffle
    if name in ("bar", "barrier"):
        return latencies.barrier
    if _is_product(name, mods):
        return latencies.tensor
    if name in _FLOAT_SPECIAL:
        return latencies.special
    if _width(mods) == "f64":
        return latencies.double
    return latencies.arithmetic + (issue - 1)
