"""How long a launch takes on a GPU and which limit decides it: an estimate, never a measurement.

    T = launch + waves · max(issue, fma, alu, …, lsu, L2, DRAM, latency)

A block asks each part of an SM for some cycles; the part asked for most limits the rate. A lone warp takes its latency
path. Between those two, blocks or warps that share an SM wait for each other as customers of a closed queue do: mean value
analysis (Reiser and Lavenberg, "Mean-Value Analysis of Closed Multichain Queuing Networks", J. ACM 27, 1980). Blocks
whose warps meet at barriers again and again queue as blocks, others warp by warp. By Little's law that is the maximum
with its corner rounded. A last wave that is not full takes the time of the blocks it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from simt.codegen.plan import SiteInfo
from simt.engine.state import Access
from simt.gpus import Gpu
from simt.model.mix import PIPES, elapsed
from simt.model.rates import Rates
from simt.model.work import Traffic, Work, is_bulk
from simt.occupancy import occupancy
from simt.ptx.syntax import Immediate

__all__ = ["Estimate", "estimate", "residency"]

SECTOR = 32
L1_FILL_BYTES = (
    64  # a clock from L2 to an SM; NVIDIA A100 whitepaper, section L2 cache (5120 B a clock over 80 of 108 SMs)
)
POPC_WAVEFRONTS = 4  # of a request of ATOMS.POPC.INC, at most: about what 32 random words of 32 banks take
LSU_PARTS = ("shared", "l1", "shuffles")
NEARLY_ALL = 0.8
MEETINGS = 2.5  # barriers of a warp beyond which the warps of a block march together


@dataclass(frozen=True, slots=True)
class Estimate:
    """Seconds of one launch.

    Attributes:
        bound: the name in `bounds` that takes longest.
        bounds: seconds that each limit alone would take.
        l2_bytes, dram_bytes: moved by the whole launch.
        resident: blocks of an SM at a time.
    """

    seconds: float
    bound: str
    bounds: Mapping[str, float]
    l2_bytes: int
    dram_bytes: int
    resident: int


@dataclass(frozen=True, slots=True)
class Moved:
    """Sectors that a block moves between the caches, lines it asks L2 for, and bytes it moves in DRAM."""

    filled: float
    stored: float
    lines: float
    dram_bytes: float

    @property
    def l2_bytes(self) -> float:
        return SECTOR * (self.filled + self.stored)


def residency(work: Work, gpu: Gpu) -> int:
    """Blocks that fit on one SM; 0 when not even one does."""
    full = occupancy(gpu.arch, registers=work.registers, shared_bytes=work.shared_bytes, threads=work.threads)
    return full.blocks


def estimate(work: Work, longest: Work, traffic: Traffic, gpu: Gpu, rates: Rates) -> Estimate:
    """The time of a launch whose blocks fit on the GPU; no less than its `longest` block takes alone."""
    resident = min(residency(work, gpu), -(-work.blocks // gpu.sm_count))
    moved = move(work, traffic, gpu)
    cycles = block_cycles(work, traffic, moved, gpu, rates)
    path = latency_path(work, traffic, rates)
    busiest = -(-work.blocks // gpu.sm_count)  # blocks of the SM that has most
    alone = latency_path(longest, traffic, rates)
    cycles_of_all = _total_cycles(work, _joint(cycles.values(), rates.sharpness), path, resident, busiest)
    total = max(cycles_of_all, alone) / gpu.clock_hz
    parts = lsu_parts(work, traffic, rates)
    bounds = {name: float(value) * busiest / gpu.clock_hz for name, value in (cycles | parts).items() if value}
    bounds["latency"] = max(path * -(-busiest // resident), alone) / gpu.clock_hz
    serial = _atomic_seconds(work, traffic, rates)
    if serial:
        bounds["atomics"] = serial
    bounds = {"launch": rates.launch_seconds} | bounds
    seconds = float(rates.launch_seconds + max(total, serial))
    n = work.blocks
    return Estimate(seconds, _decides(bounds), bounds, round(n * moved.l2_bytes), round(n * moved.dram_bytes), resident)


def _decides(bounds: Mapping[str, float]) -> str:
    """The limit that takes longest; of the load-store unit, what keeps it busy when that is nearly all of it."""
    longest = max(bounds, key=lambda name: bounds[name])
    if longest not in ("lsu", *LSU_PARTS):
        return longest
    part = max(LSU_PARTS, key=lambda name: bounds.get(name, 0.0))
    return part if bounds.get(part, 0.0) >= NEARLY_ALL * bounds["lsu"] else "lsu"


def move(work: Work, traffic: Traffic, gpu: Gpu) -> Moved:
    """What a block moves, by the rates of `traffic`; an untraced site counts as one that finds nothing.

    Where all arguments fit into L2 together, no byte of them comes from DRAM twice or goes there twice.
    """
    filled = stored = lines = read = 0.0
    for site in work.of_global(Access.LOAD, Access.ATOMIC):
        sectors = float(work.sites[site, 1])
        missed_l1 = sectors * (1 - traffic.l1_hits.get(site, 0.0))
        filled += missed_l1
        lines += work.sites[site, 0] * traffic.lines.get(site, 1.0) * (missed_l1 / sectors if sectors else 0.0)
        read += missed_l1 * (1 - traffic.l2_hits.get(site, 0.0)) * traffic.read_factor
    for site in work.of_global(Access.STORE):
        stored += float(work.sites[site, 1])
        lines += float(work.sites[site, 0]) * traffic.lines.get(site, 1.0)
    bulk = sum(float(work.sites[i, 11]) for i, info in enumerate(work.plan.site_infos) if is_bulk(info))
    written, refilled = stored * traffic.written, stored * traffic.filled
    if work.buffer_bytes <= gpu.l2_bytes:
        of_block = SECTOR * work.blocks
        read = min(read, work.reached_bytes(Access.LOAD, Access.ATOMIC) / of_block)
        written = min(written, work.reached_bytes(Access.STORE) / of_block)
        refilled = min(refilled, written)
    return Moved(filled + bulk / SECTOR, stored, lines, SECTOR * (read + written + refilled) + bulk)


def block_cycles(work: Work, traffic: Traffic, moved: Moved, gpu: Gpu, rates: Rates) -> dict[str, float]:
    """Cycles that a block asks of each part of its SM, or of the SM's share of what all SMs use."""
    arch = gpu.arch
    slots = dict(zip(PIPES, work.runs @ np.array([mix.slots for mix in work.mixes]), strict=True))
    active = min(gpu.sm_count, work.blocks)
    l2_bandwidth = (gpu.l2_bandwidth or 32.0 * gpu.sm_count * gpu.clock_hz) / gpu.clock_hz  # bytes a clock
    tensor = gpu.tensor_flops * rates.tensor_efficiency / gpu.sm_count / gpu.clock_hz
    dram = gpu.memory_bandwidth * rates.dram_efficiency / gpu.clock_hz
    to_l2 = SECTOR * (moved.filled + moved.stored) / l2_bandwidth * gpu.sm_count + rates.l2_line_cycles * moved.lines
    return {
        "issue": slots["issue"] / arch.warp_schedulers,
        "fma": slots["fma"] * 32 / arch.fp32_lanes / rates.fma_efficiency,
        "alu": slots["alu"] * 32 / arch.int32_lanes,
        "xu": slots["xu"] * 32 / arch.special_lanes,
        "fp64": slots["fp64"] * 32 / arch.fp64_lanes,
        "tensor": slots["tensor_flops"] / tensor,
        "lsu": sum(lsu_parts(work, traffic, rates).values()),
        "l1_fill": SECTOR * moved.filled / L1_FILL_BYTES,
        "l2": to_l2 * active / gpu.sm_count,
        "dram": moved.dram_bytes / dram * active,
    }


def lsu_parts(work: Work, traffic: Traffic, rates: Rates) -> dict[str, float]:
    """Cycles of the load-store unit, which serves all of them: wavefronts of shared memory, requests at L1, shuffles."""
    shared = 0.0
    for site, info in enumerate(work.plan.site_infos):
        wavefronts = float(work.sites[site, 5])
        shared += min(wavefronts, POPC_WAVEFRONTS * float(work.sites[site, 4])) if _counts_up(info) else wavefronts
    l1 = float(work.sites[:, 9].sum()) / 4  # local memory: four sectors a wavefront
    for site in work.of_global(Access.LOAD, Access.STORE, Access.ATOMIC):
        l1 += float(work.sites[site, 0]) * max(rates.request_cycles, traffic.lines.get(site, 1.0))
    shuffles = float(work.runs @ np.array([mix.slots[PIPES.index("shuffles")] for mix in work.mixes]))
    return dict(zip(LSU_PARTS, (shared, l1, shuffles), strict=True))


def _counts_up(info: SiteInfo) -> bool:
    """An atomic that adds 1 to shared memory: ATOMS.POPC.INC, which joins lanes at one word."""
    operands = info.instruction.operands
    last = operands[-1] if operands else None
    return info.access == Access.ATOMIC and "add" in info.instruction.mods and last == Immediate("int", 1)


def latency_path(work: Work, traffic: Traffic, rates: Rates) -> float:
    """Cycles from a block's start to its end when each of its warps is alone."""
    loads = {}
    for site, info in enumerate(work.plan.site_infos):
        counts = work.sites[site]
        if info.access == Access.STORE or not info.element_bytes:
            continue
        if counts[0]:
            hit_l1, hit_l2 = traffic.l1_hits.get(site, 0.0), traffic.l2_hits.get(site, 0.0)
            waits = traffic.awaited.get(site, 0.0)
            # What comes along with another sector arrives with it, and so does what another request has just asked for.
            from_dram = min(1.0, (1 - hit_l2) * traffic.read_factor + waits)
            beyond = (1 - from_dram) * rates.l2 + from_dram * rates.dram
            loads[site] = hit_l1 * rates.l1 + (1 - hit_l1) * beyond + traffic.lines.get(site, 1.0) - 1
            if info.access == Access.ATOMIC:
                loads[site] = rates.l2 if info.flags & 2 else rates.latencies.arithmetic
        else:
            requests = float(counts[4])
            loads[site] = rates.latencies.shared + (float(counts[5]) / requests - 1 if requests else 0.0)
    return (
        rates.block_cycles
        + float(work.runs @ np.array(elapsed(work.plan, work.mixes, rates.latencies, loads))) / work.warps
    )


def _joint(demands: Iterable[float], sharpness: float) -> float:
    """The greatest demand, more where others come near it: parts that are all busy get in each other's way."""
    return sum(demand**sharpness for demand in demands) ** (1 / sharpness)


def _total_cycles(work: Work, demand: float, path: float, resident: int, busiest: int) -> float:
    """All blocks of the busiest SM, wave after wave."""
    waves, rest = divmod(busiest, resident)
    total = waves * _wave(work, demand, path, resident)
    return total + (_wave(work, demand, path, rest) if rest else 0.0)


def _wave(work: Work, demand: float, path: float, blocks: int) -> float:
    """Cycles in which each of `blocks` resident blocks runs once."""
    barriers = sum(
        float(runs) for block, runs in zip(work.plan.cfg.blocks, work.runs, strict=True)
        for i in block.instructions if i.name in ("bar", "barrier")
    )  # fmt: skip
    of_warp = demand / work.warps
    think = max(path - of_warp, 0.0)
    if barriers / work.warps > MEETINGS:
        return _cycle(blocks, demand, think)
    return _cycle(blocks * work.warps, of_warp, think)


def _cycle(customers: int, service: float, think: float) -> float:
    """Time in which each customer of a closed queue is served once."""
    waiting = 0.0
    cycle = think + service
    for number in range(1, customers + 1):
        response = service * (1 + waiting)
        cycle = think + response
        waiting = number * response / cycle if cycle else 0.0
    return cycle


def _atomic_seconds(work: Work, traffic: Traffic, rates: Rates) -> float:
    """The busiest line serves its packets one after another."""
    packets = sum(float(work.sites[site, 0]) * traffic.lines.get(site, 1.0) for site in work.of_global(Access.ATOMIC))
    each = rates.packet_seconds + rates.lane_seconds * traffic.packet_lanes
    return work.blocks * packets * traffic.hot_share * each
