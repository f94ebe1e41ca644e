"""Sends traced requests of blocks side by side through the cache model: the `Traffic` of a launch on one GPU.

Two samples answer two questions. A few SMs with all their resident blocks, as far as the trace reaches, beside their
share of L2: what is used again, and is it still there. All SMs for a moment: what do they read together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simt.engine.state import Access, Scope
from simt.gpus import Gpu
from simt.model.caches import CacheRun, CacheSizes, run_caches
from simt.model.work import Traffic, Work
from simt.runner.sampling import MOST_OF_A_BLOCK, Sampler, Traced

__all__ = ["Effort", "sample_traffic"]

LEAST_TURNS = 4  # requests of a warp in the sample of all SMs
LINE_SHIFT = 7
MATRIX, MATRIX_COST = frozenset(["wmma", "mma", "wgmma"]), 100  # times an ordinary instruction's time in the simulator


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is sampled.

    Attributes:
        blocks: that run to their end, at most.
        fuel: warp instructions of those, and of each sample of traffic.
        requests: traced in each sample of traffic; one takes 280 bytes.
    """

    blocks: int
    fuel: int
    requests: int


@dataclass(frozen=True, slots=True)
class _Pace:
    """Averages of a warp: instructions, what they cost to run here, global requests; and global requests of a block."""

    instructions: float
    cost: float
    requests: float
    of_block: float


def sample_traffic(sampler: Sampler, work: Work, gpu: Gpu, resident: int, effort: Effort) -> Traffic:
    """Traffic of the launch while `resident` blocks share each SM of `gpu`."""
    if not work.requests(Scope.GLOBAL):
        return Traffic()
    pace = _pace(work)
    per_sm = min(resident, -(-work.blocks // gpu.sm_count))
    wave = min(work.blocks, per_sm * gpu.sm_count)
    active = min(gpu.sm_count, work.blocks)
    requests_of_sm = max(1.0, work.requests(Scope.GLOBAL) * per_sm)
    cost_of_sm = pace.cost * work.warps * per_sm
    sms = int(max(1, min(active, effort.requests // requests_of_sm, effort.fuel // cost_of_sm)))
    few = [index for index in range(wave) if index % gpu.sm_count < sms]
    deep = _trace(sampler, work, pace, effort, few, max(1, effort.requests // (len(few) * work.warps)))
    l2_share = gpu.l2_bytes * sms // active
    first = _send(sampler, work, deep, gpu, per_sm, sms, l2_share)
    hot = (0.0, 1.0)
    if work.of_global(Access.ATOMIC):
        hot = _hot_line(work, _trace(sampler, work, pace, effort, few[:2], int(pace.requests) + 1))
    if len(few) == wave:
        return _traffic(work, first, None, None, hot)
    wide = _trace(
        sampler, work, pace, effort, list(range(wave)), max(LEAST_TURNS, effort.requests // (wave * work.warps))
    )
    together = _send(sampler, work, wide, gpu, per_sm, active, gpu.l2_bytes)
    alone = _send(sampler, work, wide, gpu, per_sm, active, gpu.l2_bytes, together=sms)
    return _traffic(work, first, together, alone, hot)


def _pace(work: Work) -> _Pace:
    blocks = work.plan.cfg.blocks
    instructions = float(work.runs @ np.array([len(block.instructions) for block in blocks])) / work.warps
    matrix = (
        float(work.runs @ np.array([sum(i.name in MATRIX for i in block.instructions) for block in blocks]))
        / work.warps
    )
    of_block = work.requests(Scope.GLOBAL)
    cost = instructions + MATRIX_COST * matrix
    return _Pace(instructions, cost, work.requests(Scope.GLOBAL) / work.warps, of_block)


def _trace(sampler: Sampler, work: Work, pace: _Pace, effort: Effort, blocks: list[int], turns: int) -> Traced:
    room = effort.fuel / (len(blocks) * work.warps * pace.cost)
    share = min(1.0, turns / pace.requests, MOST_OF_A_BLOCK / max(pace.of_block, 1), room)
    return sampler.traced(blocks, turns, int(1.2 * pace.instructions * share) + 64)


def _send(
    sampler: Sampler, work: Work, traced: Traced, gpu: Gpu, per_sm: int, sms: int, l2_bytes: int, *, together: int = 0
) -> CacheRun:
    order = np.lexsort((traced.block, traced.turn)).astype(np.int64)
    owners = (traced.block % gpu.sm_count).astype(np.int64)
    infos = work.plan.site_infos
    access = np.array([info.access for info in infos], np.int32)
    n_bytes = np.array([info.element_bytes * info.n_elements for info in infos], np.int32)
    sizes = CacheSizes(_l1_bytes(work, gpu, per_sm), l2_bytes, sms)
    apart = owners // together if together else np.zeros_like(owners)
    turns = traced.turn.astype(np.int64)
    return run_caches(traced.records, order, owners, apart, turns, access, n_bytes, sizes, cache=sampler.kernel.cache)


def _l1_bytes(work: Work, gpu: Gpu, per_sm: int) -> int:
    """What is left of an SM's memory beside the shared memory that the driver sets aside for resident blocks."""
    arch = gpu.arch
    wanted = per_sm * (work.shared_bytes + arch.reserved_shared_bytes_per_block) if work.shared_bytes else 0
    carveout = next((size for size in arch.shared_carveouts if size >= wanted), arch.shared_carveouts[-1])
    return arch.l1_bytes_per_sm - carveout


def _traffic(
    work: Work, deep: CacheRun, together: CacheRun | None, alone: CacheRun | None, hot: tuple[float, float]
) -> Traffic:
    lines, l1, l2, awaited = {}, {}, {}, {}
    for site in work.of_global(Access.LOAD, Access.STORE, Access.ATOMIC):
        requests, n_lines, sectors, hit_l1, hit_l2, missed, _ = deep.counts[site]
        wide = (together or deep).counts[site]
        if requests or wide[0]:
            lines[site] = n_lines / requests if requests else wide[1] / wide[0]
        if sectors and work.plan.site_infos[site].access != Access.STORE:
            l1[site] = hit_l1 / sectors
            missing = missed / (hit_l2 + missed) if hit_l2 + missed else 0.0
            l2[site] = 1 - missing * _sharing(site, together, alone)
            for_one = float(wide[6] / wide[5]) if wide[5] else 0.0  # sectors that wait with one that missed
            awaited[site] = min(l2[site], (1 - l2[site]) * for_one)
    run = together or deep
    stored = sum(int(run.counts[site][2]) for site in work.of_global(Access.STORE))
    missed = int(run.counts[:, 5].sum())
    return Traffic(
        lines, l1, l2, awaited,
        read_factor=run.dram_read / missed if missed else 1.0,
        written=min(1.0, run.dram_written / stored) if stored else 1.0,
        filled=min(1.0, run.dram_filled / stored) if stored else 0.0,
        hot_share=hot[0], packet_lanes=hot[1],
    )  # fmt: skip


def _sharing(site: int, together: CacheRun | None, alone: CacheRun | None) -> float:
    """L2 misses of all SMs over what they would be if groups as large as the first sample read no others' lines.

    For a site that the moment of all SMs has not come to, as for those it has.
    """
    if together is None or alone is None:
        return 1.0
    shared, apart = together.counts[site][5], alone.counts[site][5]
    if not apart:
        shared, apart = together.counts[:, 5].sum(), alone.counts[:, 5].sum()
    return float(shared / apart) if apart else 1.0


def _hot_line(work: Work, traced: Traced) -> tuple[float, float]:
    """(share of all atomic packets that go to the busiest line, lanes of a packet there).

    A packet is the part of a request that lies in one line.
    """
    sites = work.of_global(Access.ATOMIC)
    found = traced.records[np.isin(traced.records["site"], sites)]
    if not len(found):
        return 0.0, 1.0
    active = (found["mask"][:, None] >> np.arange(32, dtype=np.uint32)) & 1 == 1
    line = found["addresses"] >> np.uint64(LINE_SHIFT)
    request = np.broadcast_to(np.arange(len(found))[:, None], line.shape)
    packets = np.unique(np.stack([request[active].astype(np.uint64), line[active]]), axis=1)[1]
    names, counts = np.unique(packets, return_counts=True)
    hottest = counts.argmax()
    lanes = int((line[active] == names[hottest]).sum())
    return float(counts[hottest] / counts.sum()), lanes / counts[hottest]
