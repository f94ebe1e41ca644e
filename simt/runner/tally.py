"""Counts of all native threads and sites → `Counters`, in total and by source line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from simt.codegen.plan import Plan
from simt.codegen.stats import block_stats
from simt.counters import Counters
from simt.engine.state import Access
from simt.isa.fragments import is_ldmatrix
from simt.ptx.syntax import Instruction
from simt.runner.states import ThreadState

__all__ = ["tally"]

# How a site's four counts of one scope are called, by access: requests, sectors or wavefronts, excess, bytes.
_NAMES = {
    (0, Access.LOAD): ("global_load_requests", "global_load_sectors", None, "global_load_bytes"),
    (0, Access.STORE): ("global_store_requests", "global_store_sectors", None, "global_store_bytes"),
    (0, Access.ATOMIC): ("atomic_global_requests", "atomic_global_sectors", None, None),
    (1, Access.LOAD): (
        "shared_load_requests", "shared_load_wavefronts", "shared_load_excess", "shared_load_bytes",
    ),
    (1, Access.STORE): (
        "shared_store_requests", "shared_store_wavefronts", "shared_store_excess", "shared_store_bytes",
    ),
    (1, Access.ATOMIC): ("atomic_shared_requests", "atomic_shared_wavefronts", None, None),
    (2, Access.LOAD): ("local_load_requests", "local_load_sectors", None, None),
    (2, Access.STORE): ("local_store_requests", "local_store_sectors", None, None),
    (2, Access.ATOMIC): ("local_store_requests", "local_store_sectors", None, None),
}  # fmt: skip
_MATRIX_LOAD = ("ldmatrix_requests", *_NAMES[1, Access.LOAD][1:])
_MATRIX_STORE = ("stmatrix_requests", *_NAMES[1, Access.STORE][1:])
_PER_LANE = frozenset(["fma_lane_instructions", "flops"])


def tally(plan: Plan, threads: Sequence[ThreadState]) -> tuple[Counters, dict[int, Counters]]:
    """(total, by line); what belongs to no line of the student's text stands under line 0."""
    rows: dict[int, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    runs = np.sum([thread.block_runs.astype(np.int64) for thread in threads], axis=0)
    _count_blocks(plan, runs.reshape(-1, 4), rows)
    _count_sites(plan, threads, rows)
    total: dict[str, int] = defaultdict(int)
    for row in rows.values():
        for name, value in row.items():
            total[name] += value
    return Counters(**total), {line: Counters(**row) for line, row in sorted(rows.items())}


def _count_blocks(plan: Plan, runs: np.ndarray, rows) -> None:
    for stats, (full, masked, lanes, parted) in zip(block_stats(plan), runs.tolist(), strict=True):
        times, lane_times = full + masked, 32 * full + lanes
        if not times:
            continue
        for (line, name), amount in stats.counts.items():
            rows[line][name] += amount * (lane_times if name in _PER_LANE else times)
            if name == "instructions":
                rows[line]["lane_instructions"] += amount * lane_times
        if stats.branch_line is not None and parted:
            rows[stats.branch_line]["divergent_branches"] += parted


_DISTANT = {
    Access.LOAD: "dsmem_load_requests",
    Access.STORE: "dsmem_store_requests",
    Access.ATOMIC: "dsmem_atomic_requests",
}


def _count_distant(info, counts, row) -> None:
    """Requests to other blocks' shared memory."""
    requests = sum(pair[0] for pair in counts)
    if requests:
        row[_DISTANT[Access(info.access)]] += requests
        row["dsmem_bytes"] += sum(pair[1] for pair in counts)


def _names(instruction: Instruction, scope: int, access: int) -> tuple[str | None, ...]:
    """What a site's counts of one scope are called; LDSM and STSM are requests of their own kinds, as Nsight has them."""
    if scope == 1 and instruction.name == "stmatrix":
        return _MATRIX_STORE
    loads = instruction.name == "wmma" and instruction.mods[0] == "load" and is_ldmatrix(instruction.mods)
    if scope == 1 and (loads or instruction.name == "ldmatrix"):
        return _MATRIX_LOAD
    return _NAMES[scope, Access(access)]


def _count_sites(plan: Plan, threads: Sequence[ThreadState], rows) -> None:
    for index, info in enumerate(plan.site_infos):
        row = rows[info.line or 0]
        if info.instruction.name == "cp" and "bulk" in info.instruction.mods:
            moved = sum(thread.sites[index].counts[11] for thread in threads)
            if moved:
                row["bulk_bytes"] += moved
            continue
        _count_distant(info, [thread.sites[index].distant for thread in threads], row)
        for scope in range(3):
            for column, name in enumerate(_names(info.instruction, scope, info.access)):
                value = sum(thread.sites[index].counts[4 * scope + column] for thread in threads)
                if name is not None and value:
                    row[name] += value
