"""Which registers hold one value for the whole warp, so that they live as scalars.

A register is *constant* when its only definition computes it from parameters, block coordinates and immediates: it is
the same whenever and by whichever lanes it is run. It is *uniform* when every definition computes a uniform value in a
block that all lanes of the warp run together; blocks whose running depends on a branch that lanes may take differently
do not count. Kernels whose lanes wait for one another (spin loops) may part anywhere: they keep constants only.
"""

from __future__ import annotations

from dataclasses import dataclass

from simt.ptx.cfg import Cfg, Loop
from simt.ptx.graph import dominators
from simt.ptx.syntax import Address, Instruction, Special, Vector
from simt.ptx.usedef import defs, uses

__all__ = ["Uniformity", "analyse", "row_specials", "waiting_loops"]

_UNIFORM_SPECIALS = frozenset(
    f"%{name}{axis}"
    for name in ("ctaid", "nctaid", "ntid", "clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid")
    for axis in (".x", ".y", ".z")
) | {
    "%nwarpid", "%smid", "%nsmid", "%gridid", "%dynamic_smem_size", "%total_smem_size", "%aggr_smem_size", "%warpid",
    "%cluster_ctarank", "%cluster_nctarank", "%is_explicit_cluster", "%envreg1", "%envreg2",
}  # fmt: skip
_VARYING = frozenset([
    "atom", "shfl", "match", "redux", "elect", "activemask", "call", "ldmatrix", "movmatrix", "mma", "wmma", "wgmma",
    "mbarrier",
])  # fmt: skip
_ORDERED = frozenset(["volatile", "relaxed", "acquire", "mmio"])


@dataclass(frozen=True, slots=True)
class Uniformity:
    registers: frozenset[str]
    divergent_blocks: frozenset[int]


def waiting_loops(cfg: Cfg) -> list[tuple[Instruction, Loop]]:
    """Loops that repeat an access until somebody else changes what it sees, each with that access.

    An atomic or an ordered load decides when such a loop ends.
    """
    found = []
    for loop in cfg.loops:
        body = [i for index in loop.blocks for i in cfg.blocks[index].instructions]
        exits = [
            cfg.blocks[index].terminator
            for index in loop.blocks
            if any(s not in loop.blocks for s in cfg.blocks[index].successors)
        ]
        deciding = {t.guard.register for t in exits if t and t.guard}
        for access in body:
            ordered = access.name == "atom" or (access.name == "ld" and _ORDERED & set(access.mods))
            if (ordered or {"try_wait", "test_wait"} & set(access.mods)) and _reaches(
                body, set(defs(access)), deciding
            ):
                found.append((access, loop))
                break
    return found


def _reaches(body: list[Instruction], tainted: set[str], wanted: set[str]) -> bool:
    known = set(tainted)
    while True:
        more = {name for i in body if set(uses(i)) & known for name in defs(i)} - known
        if not more:
            return bool(known & wanted)
        known |= more


@dataclass(frozen=True, slots=True)
class _Definition:
    """One write of a register: where, what it reads, and whether anything but those decides that it varies."""

    block: int
    reads: tuple[str, ...]
    may_be_uniform: bool
    may_be_constant: bool


def analyse(cfg: Cfg, block_dim: tuple[int, int, int]) -> Uniformity:
    """Uniform registers of a kernel that is launched with blocks of `block_dim` threads."""
    definitions = _definitions(cfg, _UNIFORM_SPECIALS | row_specials(block_dim))
    constant = _constants(definitions)
    if waiting_loops(cfg):
        return Uniformity(frozenset(constant), frozenset(range(len(cfg.blocks))))
    varying = {n for n, rows in definitions.items() if n not in constant and not all(r.may_be_uniform for r in rows)}
    branches = [uses(block.terminator) if block.terminator and block.branches else () for block in cfg.blocks]
    depends = _controllers(cfg)
    while True:
        _spread(definitions, constant, varying)
        parting = {i for i, names in enumerate(branches) if any(n in varying or n not in definitions for n in names)}
        divergent = {index for index, above in enumerate(depends) if above & parting}
        more = {
            name
            for name, rows in definitions.items()
            if name not in varying and name not in constant and any(row.block in divergent for row in rows)
        }
        if not more:
            uniform = frozenset(definitions) - varying
            return Uniformity(uniform, frozenset(divergent))
        varying |= more


def _definitions(cfg: Cfg, specials: frozenset[str] | set[str]) -> dict[str, list[_Definition]]:
    found: dict[str, list[_Definition]] = {}
    for block in cfg.blocks:
        for instruction in block.instructions:
            names = defs(instruction)
            if not names:
                continue
            fixed = all(_special_uniform(operand, specials) for operand in instruction.operands)
            may = fixed and _may_be_uniform(instruction)
            row = _Definition(block.index, uses(instruction), may, may and _may_be_constant(instruction))
            for name in names:
                found.setdefault(name, []).append(row)
    return found


def _spread(definitions: dict[str, list[_Definition]], constant: set[str], varying: set[str]) -> None:
    """Adds to `varying` whatever reads something varying, or something that nothing writes."""
    readers: dict[str, list[str]] = {}
    for name, rows in definitions.items():
        for row in rows:
            for read in row.reads:
                readers.setdefault(read, []).append(name)
    pending = [*varying, *(read for read in readers if read not in definitions)]
    while pending:
        for name in readers.get(pending.pop(), ()):
            if name not in varying and name not in constant:
                varying.add(name)
                pending.append(name)


def row_specials(block_dim: tuple[int, int, int]) -> set[str]:
    """Thread coordinates that are the same for all lanes of a warp, for blocks of this shape."""
    x, y, z = block_dim
    found = set()
    for size, name in ((x, "%tid.x"), (y, "%tid.y"), (z, "%tid.z")):
        if size == 1:
            found.add(name)
    if x % 32 == 0:
        found |= {"%tid.y", "%tid.z"}
    if (x * y) % 32 == 0:
        found.add("%tid.z")
    return found


def _constants(definitions: dict[str, list[_Definition]]) -> set[str]:
    """Registers written once, from constants only."""
    waiting: dict[str, int] = {}
    readers: dict[str, list[str]] = {}
    constant: set[str] = set()
    pending: list[str] = []
    for name, rows in definitions.items():
        if len(rows) == 1 and rows[0].may_be_constant:
            waiting[name] = len(rows[0].reads)
            for read in rows[0].reads:
                readers.setdefault(read, []).append(name)
            if not rows[0].reads:
                pending.append(name)
    while pending:
        name = pending.pop()
        constant.add(name)
        for reader in readers.get(name, ()):
            waiting[reader] -= 1
            if not waiting[reader]:
                pending.append(reader)
    return constant


def _may_be_constant(instruction: Instruction) -> bool:
    if instruction.guard is not None or instruction.name in ("vote", "barrier_result", "redux", "mbarrier"):
        return False
    return instruction.name != "ld" or any(m.startswith("param") for m in instruction.mods)


def _may_be_uniform(instruction: Instruction) -> bool:
    """Whether uniform operands give a uniform result: not where lanes differ by nature or see memory of their own."""
    if instruction.name in _VARYING or "cc" in instruction.mods or instruction.name in ("addc", "subc", "madc"):
        return False
    if instruction.name == "ld":
        return "local" not in instruction.mods and any(m in _SPACES for m in instruction.mods)
    return True


_SPACES = frozenset(["global", "shared", "shared::cta", "const", "param", "param::entry", "param::func"])


def _special_uniform(operand, specials) -> bool:
    match operand:
        case Special(name):
            return name in specials
        case Vector(items):
            return all(_special_uniform(item, specials) for item in items)
        case Address(extra=extra):
            return all(_special_uniform(item, specials) for item in extra)
    return True


def _controllers(cfg: Cfg) -> list[frozenset[int]]:
    """Per block, the blocks whose branch decides whether it runs among lanes that stay.

    Lanes that only leave, to a bare `ret`, part from nobody who would have to wait for them: such edges do not count.
    """
    bare = {block.index for block in cfg.blocks if block.leaves and not block.straight and not block.successors}
    ahead = [[s for s in block.successors if s not in bare] for block in cfg.blocks]
    leave = len(cfg.blocks)
    back: list[list[int]] = [[] for _ in range(leave + 1)]
    for index, targets in enumerate(ahead):
        for target in targets:
            back[target].append(index)
        if not targets:
            back[leave].append(index)
    after = _post_dominators(back, leave)
    direct: list[set[int]] = [set() for _ in range(leave)]
    for index, targets in enumerate(ahead):
        for runner in targets if len(targets) > 1 else ():
            while runner not in (after[index], leave):
                direct[runner].add(index)
                runner = after[runner]
    return [_closure(direct, index) for index in range(leave)]


def _post_dominators(back: list[list[int]], leave: int) -> list[int]:
    """Dominators of the graph turned around; a block that nothing leaves from counts as leaving."""
    found = list(dominators(back, leave))
    for index in range(leave):
        if index not in _reached(back, leave):
            back[leave].append(index)
            found = list(dominators(back, leave))
    return found


def _reached(back: list[list[int]], root: int) -> set[int]:
    seen, pending = {root}, [root]
    while pending:
        for node in back[pending.pop()]:
            if node not in seen:
                seen.add(node)
                pending.append(node)
    return seen


def _closure(direct: list[set[int]], index: int) -> frozenset[int]:
    found: set[int] = set()
    pending = [index]
    while pending:
        above = direct[pending.pop()] - found
        found |= above
        pending.extend(above)
    return frozenset(found)
