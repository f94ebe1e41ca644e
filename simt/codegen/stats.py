"""What each basic block holds, by source line: static counts that the number of runs turns into counters."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from simt.codegen.plan import Plan
from simt.isa.fragments import shape_of, tensor_instructions
from simt.ptx.syntax import Instruction

__all__ = ["BlockStats", "block_stats"]

_ARITHMETIC = frozenset(["add", "sub", "mul", "fma", "mad", "div", "rcp", "sqrt", "rsqrt", "ex2", "lg2", "sin", "cos"])


@dataclass(frozen=True, slots=True)
class BlockStats:
    """Counts of one basic block by (line or 0, counter name)."""

    counts: dict[tuple[int, str], int]
    branch_line: int | None  # line of its two-way branch, None without one


def _kinds(instruction: Instruction) -> list[tuple[str, int]]:
    kinds = [("instructions", 1)]
    name, mods = instruction.name, instruction.mods
    is_float = any(m in ("f32", "f64", "f16", "bf16", "f16x2", "bf16x2") for m in mods)
    if name == "bra" and instruction.guard is not None:
        kinds.append(("branches", 1))
    if name in ("bar", "barrier") and "warp" not in mods and mods[:2] != ("cluster", "wait"):
        kinds.append(("cluster_barriers" if "cluster" in mods else "barriers", 1))
    if name == "cp" and mods[1] in ("ca", "cg"):
        kinds.append(("async_copies", 1))
    if name == "shfl":
        kinds.append(("shuffles", 1))
    if name in ("fma", "mad") and is_float:
        kinds.append(("fma_lane_instructions", 1))
    if name in _ARITHMETIC and is_float:
        packed = 2 if mods[-1].endswith("x2") else 1
        kinds.append(("flops", packed * (2 if name in ("fma", "mad") else 1)))
    if name == "mma" or mods[:1] in (("mma",), ("mma_async",)):
        m, n, k = shape_of(mods)
        m = 16 if name == "wgmma" else m  # of one warp
        kinds += [("tensor_instructions", tensor_instructions(name, mods)), ("flops", 2 * m * n * k // 32)]
    return kinds


def block_stats(plan: Plan) -> list[BlockStats]:
    """Per basic block of the plan, in its order."""
    rows = []
    for block in plan.cfg.blocks:
        counts: Counter[tuple[int, str]] = Counter()
        for instruction in block.instructions:
            line = plan.line(instruction) or 0
            for kind, amount in _kinds(instruction):
                counts[line, kind] += amount
        last = block.terminator
        two_way = last is not None and last.guard is not None and last.name == "bra"
        rows.append(BlockStats(dict(counts), (plan.line(last) or 0) if two_way else None))
    return rows
