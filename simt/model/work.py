"""What one launch asks of a GPU: sampled blocks and their traffic, as averages of a block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from simt.codegen.plan import Plan, SiteInfo
from simt.engine.state import Access, Scope
from simt.model.mix import BlockMix

__all__ = ["Traffic", "Work", "is_bulk"]


@dataclass(frozen=True, slots=True)
class Traffic:
    """Where global requests of a GPU's resident blocks go; rates are from 0 to 1, by site where a site was traced.

    Attributes:
        lines: 128-byte lines of a request.
        l1_hits: of the sectors loaded.
        l2_hits: of those that missed L1.
        awaited: of those that missed L1, that L2 has just asked DRAM for; they are among its hits.
        read_factor: sectors that DRAM moves for one that missed L2; it reads them in pairs.
        written, filled: sectors that leave for DRAM, and that are read before since they were written in part, for each
            sector stored.
        hot_share: of all atomic packets, those for the line with most; `packet_lanes` are a packet's lanes there.
    """

    lines: Mapping[int, float] = field(default_factory=dict)
    l1_hits: Mapping[int, float] = field(default_factory=dict)
    l2_hits: Mapping[int, float] = field(default_factory=dict)
    awaited: Mapping[int, float] = field(default_factory=dict)
    read_factor: float = 1.0
    written: float = 1.0
    filled: float = 0.0
    hot_share: float = 0.0
    packet_lanes: float = 1.0


def is_bulk(info: SiteInfo) -> bool:
    """A bulk or tile copy: its bytes are counted, it makes no requests."""
    return info.instruction.name == "cp" and "bulk" in info.instruction.mods


@dataclass(frozen=True, slots=True)
class Work:
    """One launch.

    Attributes:
        blocks: of the grid.
        threads, registers, shared_bytes: of a block, a thread, a block.
        buffers: (n_sites,) of (index, bytes): the argument that each site's requests reach, (-1, 0) for none.
        buffer_bytes: of all arguments together.
        mixes: of the plan's basic blocks.
        runs: (n_basic_blocks,) float: how often a block of threads runs each, all warps together.
        sites: (n_sites, 12) float: `Site.counts` of a block.
    """

    plan: Plan
    blocks: int
    threads: int
    registers: int
    shared_bytes: int
    buffers: Sequence[tuple[int, int]]
    buffer_bytes: int
    mixes: Sequence[BlockMix]
    runs: np.ndarray
    sites: np.ndarray

    @property
    def warps(self) -> int:
        """Of a block."""
        return -(-self.threads // 32)

    def of_global(self, *accesses: Access) -> list[int]:
        """Sites that made such global requests."""
        infos = enumerate(self.plan.site_infos)
        made = (i for i, info in infos if info.access in accesses and info.element_bytes and not is_bulk(info))
        return [i for i in made if self.sites[i, 0]]

    def reached_bytes(self, *accesses: Access) -> int:
        """Of the arguments that such global requests reach, each once."""
        return sum(dict(self.buffers[site] for site in self.of_global(*accesses)).values())

    def requests(self, scope: Scope) -> float:
        """Requests of a block in a scope, of any access."""
        return float(self.sites[:, 4 * int(scope)].sum())
