"""Neighbouring 4-byte shared loads become vector loads, as ptxas makes them.

Nsight counts SASS: `tile[y][k]`, `tile[y][k+1]`, … with one base register and consecutive offsets are one LDS.128 or
LDS.64 there, and cost other wavefronts than four single loads. Loads merge inside one basic block, when the start is
known to be aligned and no barrier, shared store or atomic stands between (tests/golden/ncu/sm_90/truth.json, the tiled
GEMMs).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from simt.ptx.syntax import Address, Function, Immediate, Instruction, Label, Register, Symbol, Vector
from simt.ptx.types import TYPES
from simt.ptx.usedef import defs, uses

__all__ = ["merge_shared_loads", "trailing_zeros"]

WORD = 4
_ENDING = frozenset(
    ["bra", "brx", "ret", "exit", "bar", "barrier", "call", "atom", "red", "trap", "fence", "membar", "cp", "mbarrier"]
)
_MOVES = frozenset(["mov", "cvt", "cvta"])


@dataclass(frozen=True, slots=True)
class _Load:
    position: int
    base: Register | Symbol
    offset: int


def merge_shared_loads(function: Function, shared: Mapping[str, int]) -> Function:
    """The function with merged loads. `shared` are the offsets of shared variables."""
    body = list(function.body or ())
    zeros = trailing_zeros(body, shared)
    removed: set[int] = set()
    for start, end in _stretches(body):
        for group in _groups(body, start, end, zeros, shared):
            first = body[group[0].position]
            mods = (*first.mods[:-1], f"v{len(group)}", f"b{8 * WORD}")
            items = tuple(body[load.position].operands[0] for load in sorted(group, key=lambda g: g.offset))
            address = Address(group[0].base, min(load.offset for load in group))
            body[group[0].position] = replace(
                first, opcode=".".join(("ld", *mods)), mods=mods, operands=(Vector(items), address)
            )
            removed.update(load.position for load in group[1:])
    kept = tuple(item for index, item in enumerate(body) if index not in removed)
    return replace(function, body=kept) if removed else function


def _stretches(body) -> list[tuple[int, int]]:
    """Runs of instructions that ptxas may reorder loads in."""
    found, start = [], 0
    for index, item in enumerate(body):
        ends = isinstance(item, Label) or item.name in _ENDING
        ends = ends or (item.name == "st" and "global" not in item.mods and "local" not in item.mods)
        if ends:
            found.append((start, index))
            start = index + 1
    found.append((start, len(body)))
    return found


def _groups(body, start: int, end: int, zeros: Mapping[str, int], shared: Mapping[str, int]) -> list[list[_Load]]:
    """Loads that merge, each group led by the one that comes first in the text."""
    chains: dict[Register | Symbol, list[_Load]] = {}
    found: list[list[_Load]] = []
    for position in range(start, end):
        item = body[position]
        load = _candidate(item, position)
        if load is not None:
            chains.setdefault(load.base, []).append(load)
        for name in defs(item):
            if Register(name) in chains:
                found.extend(_aligned_runs(chains.pop(Register(name)), zeros.get(name, 0)))
    for base, loads in chains.items():
        found.extend(_aligned_runs(loads, _operand_zeros(base, zeros, shared)))
    return [group for group in found if _may_move(body, group)]


def _candidate(item: Instruction, position: int) -> _Load | None:
    if item.name != "ld" or item.guard is not None or item.mods[0] not in ("shared", "shared::cta"):
        return None
    if len(item.mods) != 2 or TYPES[item.mods[1]].n_bytes != WORD or not isinstance(item.operands[0], Register):
        return None
    address = item.operands[1]
    if not isinstance(address, Address) or address.base is None:
        return None
    if isinstance(address.base, Symbol):
        return _Load(position, Symbol(address.base.name), address.base.offset + address.offset)
    return _Load(position, address.base, address.offset)


def _aligned_runs(loads: list[_Load], zeros: int) -> list[list[_Load]]:
    """Groups of four words from a 16-byte boundary, then pairs from an 8-byte one."""
    by_offset: dict[int, _Load] = {}
    for load in loads:
        by_offset.setdefault(load.offset, load)
    groups = []
    for size in (4, 2):
        if (1 << zeros) < size * WORD:
            continue
        for offset in sorted(by_offset):
            places = [offset + WORD * index for index in range(size)]
            run = [by_offset[place] for place in places if place in by_offset]
            if offset % (size * WORD) == 0 and len(run) == size:
                groups.append(sorted(run, key=lambda load: load.position))
                for load in run:
                    del by_offset[load.offset]
    return groups


def _may_move(body, group: list[_Load]) -> bool:
    """Whether every load of the group may run where the first one stands."""
    targets = [body[load.position].operands[0].name for load in group]
    if len(set(targets)) < len(targets) or group[0].base in [Register(target) for target in targets]:
        return False
    for load, target in zip(group[1:], targets[1:], strict=True):
        for item in body[group[0].position + 1 : load.position]:
            if target in defs(item) or target in uses(item):
                return False
    return True


def trailing_zeros(body, shared: Mapping[str, int]) -> dict[str, int]:
    """Low bits of each register that are known to be zero, 64 for the constant 0."""
    definitions: dict[str, list[Instruction]] = {}
    for item in body:
        for name in defs(item) if isinstance(item, Instruction) else ():
            definitions.setdefault(name, []).append(item)
    zeros = dict.fromkeys(definitions, 64)
    changed = True
    while changed:
        changed = False
        for name, rows in definitions.items():
            known = min(_zeros_of(item, zeros, shared) for item in rows)
            if known < zeros[name]:
                zeros[name], changed = known, True
    return zeros


def _count(value: int) -> int:
    return 64 if value == 0 else (value & -value).bit_length() - 1


def _operand_zeros(operand, zeros: Mapping[str, int], shared: Mapping[str, int]) -> int:
    match operand:
        case Immediate(kind="int", value=value):
            return _count(value)
        case Register(name):
            return zeros.get(name, 0)
        case Symbol(name, offset):
            return _count(shared[name] + offset) if name in shared else 0
    return 0


def _zeros_of(item: Instruction, zeros: Mapping[str, int], shared: Mapping[str, int]) -> int:
    known = [_operand_zeros(o, zeros, shared) for o in item.operands[1:]]
    if item.guard is not None or not known:
        return 0
    name = item.name
    if name in _MOVES and len(known) == 1:
        return known[0]
    if name in ("add", "sub", "or", "xor", "min", "max", "selp") and len(known) >= 2:
        return min(known[:2])
    if name == "mul" and "hi" not in item.mods:
        return min(64, sum(known))
    if name == "mad" and "hi" not in item.mods:
        return min(64, known[0] + known[1], known[2])
    if name == "and":
        return max(known)
    amount = item.operands[2] if len(item.operands) > 2 else None
    if name == "shl" and isinstance(amount, Immediate):
        return min(64, known[0] + (amount.value & 0xFFFFFFFF))
    return 0
