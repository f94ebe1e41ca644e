"""Which registers hold one value for the whole warp, so that they live as scalars.

A register is *constant* when its only definition computes it from parameters, block coordinates and immediates: it is
the same whenever and by whichever lanes it is run. It is *uniform* when every definition computes a uniform value in a
block that all lanes of the warp run together; blocks whose running depends on a branch that lanes may take differently
do not count. Kernels whose lanes wait for one another (spin loops) may part anywhere: they keep constants only.
"""

from __future__ import annotations

from dataclasses import dataclass

from simt.ptx.cfg import Cfg
from simt.ptx.graph import dominators
from simt.ptx.syntax import Address, Instruction, Special, Vector
from simt.ptx.usedef import defs, uses

__all__ = ["Uniformity", "analyse", "row_specials", "spins"]

_UNIFORM_SPECIALS = frozenset(
    f"%{name}{axis}"
    for name in ("ctaid", "nctaid", "ntid", "clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid")
    for axis in (".x", ".y", ".z")
) | {
    "%nwarpid", "%smid", "%nsmid", "%gridid", "%dynamic_smem_size", "%total_smem_size", "%aggr_smem_size", "%warpid",
    "%cluster_ctarank", "%cluster_nctarank", "%is_explicit_cluster",
}
_VARYING = frozenset(["atom", "shfl", "match", "elect", "activemask", "call"])
_ORDERED = frozenset(["volatile", "relaxed", "acquire", "mmio"])


@dataclass(frozen=True, slots=True)
class Uniformity:
    registers: frozenset[str]
    divergent_blocks: frozenset[int]


def spins(cfg: Cfg) -> bool:
    """Whether some loop waits for what other lanes do: an atomic or an ordered load decides when it ends."""
    for loop in cfg.loops:
        body = [i for index in loop.blocks for i in cfg.blocks[index].instructions]
        exits = [
            cfg.blocks[index].terminator
            for index in loop.blocks
            if any(s not in loop.blocks for s in cfg.blocks[index].successors)
        ]
        tainted = {
            name
            for i in body
            if i.name == "atom" or (i.name == "ld" and _ORDERED & set(i.mods)) or "try_wait" in i.mods
            for name in defs(i)
        }
        if tainted and _reaches(body, tainted, {t.guard.register for t in exits if t and t.guard}):
            return True
    return False


def _reaches(body: list[Instruction], tainted: set[str], wanted: set[str]) -> bool:
    known = set(tainted)
    while True:
        more = {name for i in body if set(uses(i)) & known for name in defs(i)} - known
        if not more:
            return bool(known & wanted)
        known |= more


def analyse(cfg: Cfg, block_dim: tuple[int, int, int]) -> Uniformity:
    """Uniform registers of a kernel that is launched with blocks of `block_dim` threads."""
    definitions: dict[str, list[tuple[int, Instruction]]] = {}
    for block in cfg.blocks:
        for instruction in block.instructions:
            for name in defs(instruction):
                definitions.setdefault(name, []).append((block.index, instruction))
    specials = _UNIFORM_SPECIALS | row_specials(block_dim)
    constant = _constants(definitions, specials)
    if spins(cfg):
        return Uniformity(frozenset(constant), frozenset(range(len(cfg.blocks))))
    uniform = set(definitions)
    depends = _controllers(cfg)
    while True:
        divergent = _divergent(cfg, depends, uniform)
        keep = {
            name
            for name in uniform
            if name in constant
            or all(
                index not in divergent and _is_uniform(instruction, name, uniform, specials)
                for index, instruction in definitions[name]
            )
        }
        if keep == uniform:
            return Uniformity(frozenset(uniform), frozenset(divergent))
        uniform = keep


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


def _constants(definitions, specials) -> set[str]:
    single = {name: rows[0][1] for name, rows in definitions.items() if len(rows) == 1 and rows[0][1].guard is None}
    constant: set[str] = set()
    while True:
        more = {
            name
            for name, instruction in single.items()
            if name not in constant and _is_constant(instruction, name, constant, specials)
        }
        if not more:
            return constant
        constant |= more


def _is_constant(instruction: Instruction, name: str, constant: set[str], specials) -> bool:
    if instruction.name == "ld" and not any(m.startswith("param") for m in instruction.mods):
        return False
    if instruction.name in ("vote", "bar", "barrier", "redux", "mbarrier"):
        return False
    return _is_uniform(instruction, name, constant, specials)


def _is_uniform(instruction: Instruction, name: str, uniform: set[str], specials) -> bool:
    """Whether this definition gives the whole warp one value, provided the registers in `uniform` do."""
    if instruction.name in _VARYING or name == "%cc":
        return False
    if instruction.name == "ld" and "local" in instruction.mods:
        return False
    if instruction.name == "ld" and not any(m in _SPACES for m in instruction.mods):
        return False  # generic: may reach local memory
    return _operands_uniform(instruction, uniform, specials)


_SPACES = frozenset(["global", "shared", "shared::cta", "const", "param", "param::entry", "param::func"])


def _operands_uniform(instruction: Instruction, uniform: set[str], specials) -> bool:
    if any(name not in uniform for name in uses(instruction)):
        return False
    return all(_special_uniform(operand, specials) for operand in instruction.operands)


def _special_uniform(operand, specials) -> bool:
    match operand:
        case Special(name):
            return name in specials
        case Vector(items):
            return all(_special_uniform(item, specials) for item in items)
        case Address(base, _, extra):
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


def _divergent(cfg: Cfg, depends: list[frozenset[int]], uniform: set[str]) -> set[int]:
    parting = set()
    for block in cfg.blocks:
        last = block.terminator
        if last is None or not block.branches:
            continue
        if any(name not in uniform for name in uses(last)):
            parting.add(block.index)
    return {block.index for block in cfg.blocks if depends[block.index] & parting}
