"""Which registers hold a value that is still needed, where a block begins and ends."""

from __future__ import annotations

from dataclasses import dataclass

from simt.ptx.cfg import Block, Cfg
from simt.ptx.usedef import defs, uses

__all__ = ["Liveness", "liveness"]


@dataclass(frozen=True, slots=True)
class Liveness:
    """Names of live registers by block; `live_in[0]` are those that may be read before anything wrote them."""

    live_in: tuple[frozenset[str], ...]
    live_out: tuple[frozenset[str], ...]


def liveness(cfg: Cfg) -> Liveness:
    """Live registers of each block. A guarded write ends no life: the old value may remain."""
    bit: dict[str, int] = {}
    reads, kills = [], []
    for block in cfg.blocks:
        read, kill = _summary(block, bit)
        reads.append(read)
        kills.append(~kill)
    n_blocks = len(cfg.blocks)
    live_in, live_out = [0] * n_blocks, [0] * n_blocks
    pending = list(range(n_blocks))  # taken from the end: a block after those that it leads to
    queued = bytearray(b"\1" * n_blocks)
    successors = [block.successors for block in cfg.blocks]
    while pending:
        index = pending.pop()
        queued[index] = 0
        out = 0
        for target in successors[index]:
            out |= live_in[target]
        live_out[index] = out
        found = reads[index] | (out & kills[index])
        if found != live_in[index]:
            live_in[index] = found
            for before in cfg.blocks[index].predecessors:
                if not queued[before]:
                    queued[before] = 1
                    pending.append(before)
    names = list(bit)
    return Liveness(tuple([_names(row, names) for row in live_in]), tuple([_names(row, names) for row in live_out]))


def _summary(block: Block, bit: dict[str, int]) -> tuple[int, int]:
    """Bit sets of a block: registers read before the block wrote them, and registers that it writes for sure."""
    read = kill = 0
    for instruction in block.instructions:
        for name in uses(instruction):
            mask = 1 << bit.setdefault(name, len(bit))
            if not kill & mask:
                read |= mask
        if instruction.guard is None:
            for name in defs(instruction):
                kill |= 1 << bit.setdefault(name, len(bit))
    return read, kill


def _names(row: int, names: list[str]) -> frozenset[str]:
    found = []
    while row:
        low = row & -row
        found.append(names[low.bit_length() - 1])
        row ^= low
    return frozenset(found)
