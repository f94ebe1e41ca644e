"""Counters of a launch, named after what Nsight Compute measures; integers only, ratios are properties.

`METRICS` says of each what it counts and how it stands to which metric of Nsight Compute; docs/counters.md prints it.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, fields

__all__ = ["METRICS", "NCU", "Counters", "Metric", "Relation", "add"]


@dataclass(frozen=True, slots=True)
class Counters:
    """Totals over warps. A request is one warp-level memory instruction with at least one active lane.

    Sectors are 32-byte sectors. Wavefronts are passes through shared memory; excess is wavefronts beyond the ideal for
    that access width (bank conflicts). `useful` bytes are what active lanes asked for. `ldmatrix`, and a `wmma` load that becomes
    one, is a request of its own kind as Nsight counts it, and so is `stmatrix`; their wavefronts are among the shared ones.
    """

    global_load_requests: int = 0
    global_load_sectors: int = 0
    global_load_bytes: int = 0
    global_store_requests: int = 0
    global_store_sectors: int = 0
    global_store_bytes: int = 0
    local_load_requests: int = 0
    local_load_sectors: int = 0
    local_store_requests: int = 0
    local_store_sectors: int = 0
    shared_load_requests: int = 0
    shared_load_wavefronts: int = 0
    shared_load_excess: int = 0
    shared_load_bytes: int = 0
    ldmatrix_requests: int = 0
    shared_store_requests: int = 0
    shared_store_wavefronts: int = 0
    shared_store_excess: int = 0
    shared_store_bytes: int = 0
    stmatrix_requests: int = 0
    atomic_global_requests: int = 0
    atomic_global_sectors: int = 0
    atomic_shared_requests: int = 0
    atomic_shared_wavefronts: int = 0
    dsmem_load_requests: int = 0
    dsmem_store_requests: int = 0
    dsmem_atomic_requests: int = 0
    dsmem_bytes: int = 0
    instructions: int = 0
    lane_instructions: int = 0
    branches: int = 0
    divergent_branches: int = 0
    barriers: int = 0
    cluster_barriers: int = 0
    shuffles: int = 0
    tensor_instructions: int = 0
    async_copies: int = 0
    bulk_bytes: int = 0
    fma_lane_instructions: int = 0
    flops: int = 0
    l2_bytes: int = 0
    dram_bytes: int = 0

    @property
    def global_load_sectors_per_request(self) -> float:
        return _ratio(self.global_load_sectors, self.global_load_requests)

    @property
    def global_store_sectors_per_request(self) -> float:
        return _ratio(self.global_store_sectors, self.global_store_requests)

    @property
    def shared_load_ways(self) -> float:
        """Wavefronts per ideal wavefront of shared loads: 1 without bank conflicts."""
        return _ratio(self.shared_load_wavefronts, self.shared_load_wavefronts - self.shared_load_excess)

    @property
    def lane_efficiency(self) -> float:
        """Active lanes per issued instruction over 32."""
        return _ratio(self.lane_instructions, 32 * self.instructions)

    @property
    def shared_loads_per_fma(self) -> float:
        """Shared load requests per warp-level FMA."""
        return _ratio(32 * self.shared_load_requests, self.fma_lane_instructions)

    def to_json(self) -> dict[str, int]:
        return {field.name: getattr(self, field.name) for field in fields(self)}


def _ratio(numerator: int, denominator: int) -> float:
    return numerator / denominator if denominator else 0.0


def add(*parts: Counters) -> Counters:
    """The sum of counters, field by field."""
    return Counters(**{f.name: sum(getattr(part, f.name) for part in parts) for f in fields(Counters)})


class Relation(enum.StrEnum):
    """How a counter stands to its metric of Nsight Compute."""

    EQUAL = "equal"  # on the launches of tests/golden, but for its gaps
    BOUNDED = "within 4 % above"  # Nsight counts waiting for other warps too
    PTX = "counted on PTX"  # Nsight counts machine code, in which ptxas merges, folds and unrolls
    MODEL = "cache model"  # an estimate for one GPU
    NONE = "ours alone"


@dataclass(frozen=True, slots=True)
class Metric:
    """What a counter counts, and the metric of Nsight Compute for it; several joined by ` + ` are added."""

    what: str
    ncu: str
    relation: Relation


_L1, _SASS, _DATA = "l1tex__t_", "smsp__sass_inst_executed_op_", "smsp__sass_data_bytes_mem_"
_WAVES, _BANKS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_"
_EQUAL, _BOUNDED, _PTX, _MODEL, _NONE = Relation

# Every counter, in the order of `Counters`.
METRICS: dict[str, Metric] = {
    name: Metric(what, ncu, relation)
    for name, what, ncu, relation in (
        ("global_load_requests", "warp-level loads of global memory", f"{_L1}requests_pipe_lsu_mem_global_op_ld.sum", _EQUAL),
        ("global_load_sectors", "32-byte sectors they touch", f"{_L1}sectors_pipe_lsu_mem_global_op_ld.sum", _EQUAL),
        ("global_load_bytes", "bytes their lanes asked for", f"{_DATA}global_op_ld.sum", _PTX),
        ("global_store_requests", "warp-level stores to global memory", f"{_L1}requests_pipe_lsu_mem_global_op_st.sum", _EQUAL),
        ("global_store_sectors", "sectors they touch", f"{_L1}sectors_pipe_lsu_mem_global_op_st.sum", _EQUAL),
        ("global_store_bytes", "bytes their lanes stored", f"{_DATA}global_op_st.sum", _PTX),
        ("local_load_requests", "warp-level loads of local memory", f"{_L1}requests_pipe_lsu_mem_local_op_ld.sum", _PTX),
        ("local_load_sectors", "sectors they touch", f"{_L1}sectors_pipe_lsu_mem_local_op_ld.sum", _PTX),
        ("local_store_requests", "warp-level stores to local memory", f"{_L1}requests_pipe_lsu_mem_local_op_st.sum", _PTX),
        ("local_store_sectors", "sectors they touch", f"{_L1}sectors_pipe_lsu_mem_local_op_st.sum", _PTX),
        ("shared_load_requests", "warp-level loads of shared memory, merged as by ptxas", f"{_SASS}shared_ld.sum", _EQUAL),
        ("shared_load_wavefronts", "passes through shared memory they take", f"{_WAVES}ld.sum", _BOUNDED),
        ("shared_load_excess", "of those, beyond the ideal: bank conflicts", f"{_BANKS}ld.sum", _BOUNDED),
        ("shared_load_bytes", "bytes their lanes asked for", f"{_DATA}shared_op_ld.sum", _PTX),
        ("ldmatrix_requests", "loads of matrices from shared memory", f"{_SASS}ldsm.sum", _EQUAL),
        ("shared_store_requests", "warp-level stores to shared memory", f"{_SASS}shared_st.sum", _EQUAL),
        ("shared_store_wavefronts", "passes they take", f"{_WAVES}st.sum", _BOUNDED),
        ("shared_store_excess", "of those, beyond the ideal", f"{_BANKS}st.sum", _BOUNDED),
        ("shared_store_bytes", "bytes their lanes stored", f"{_DATA}shared_op_st.sum", _PTX),
        ("stmatrix_requests", "stores of matrices to shared memory, no shared stores to Nsight", "", _NONE),
        ("atomic_global_requests", "atomics on global memory", f"{_L1}requests_pipe_lsu_mem_global_op_red.sum", _EQUAL),
        ("atomic_global_sectors", "sectors they touch, pass by pass", f"{_L1}sectors_pipe_lsu_mem_global_op_red.sum", _EQUAL),
        ("atomic_shared_requests", "atomics on shared memory", f"{_SASS}shared_atom.sum", _PTX),
        ("atomic_shared_wavefronts", "passes they take", f"{_WAVES}atom.sum", _PTX),
        ("dsmem_load_requests", "warp-level loads of shared memory of the cluster",
         f"{_L1}requests_pipe_lsu_mem_dshared_op_ld.sum", _PTX),
        ("dsmem_store_requests", "warp-level stores to shared memory of the cluster",
         f"{_L1}requests_pipe_lsu_mem_dshared_op_st.sum", _PTX),
        ("dsmem_atomic_requests", "atomics on shared memory of the cluster", f"{_SASS}dshared_atom.sum", _PTX),
        ("dsmem_bytes", "bytes that lanes of those asked for", "", _NONE),
        ("instructions", "warp instructions", "smsp__inst_executed.sum", _PTX),
        ("lane_instructions", "the same, lane by lane", "smsp__thread_inst_executed.sum", _PTX),
        ("branches", "conditional branches", "smsp__inst_executed_op_branch.sum", _PTX),
        ("divergent_branches", "of those, where lanes part", "smsp__sass_branch_targets_threads_divergent.sum", _PTX),
        ("barriers", "barrier arrivals of warps", "", _NONE),
        ("cluster_barriers", "arrivals of warps at the barrier of their cluster", "", _NONE),
        ("shuffles", "warp shuffles", f"{_SASS}shfl.sum", _PTX),
        ("tensor_instructions", "products of the tensor cores in sm_90's machine code; Nsight adds HFMA2.MMA",
         "sm__inst_executed_pipe_tensor.sum", _PTX),
        ("async_copies", "cp.async, in machine code LDGSTS", f"{_SASS}ldgsts.sum", _PTX),
        ("bulk_bytes", "bytes of bulk and tile copies", "", _NONE),
        ("fma_lane_instructions", "fused multiply-adds, lane by lane",
         "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", _PTX),
        ("flops", "floating-point operations, two for a fused multiply-add", "", _NONE),
        ("l2_bytes", "bytes between L1 and L2", "lts__t_bytes_srcunit_tex.sum", _MODEL),
        ("dram_bytes", "bytes to and from device memory", "dram__bytes.sum", _MODEL),
    )
}  # fmt: skip

# What Nsight is asked for beside ours: where the two are equal or nearly so, and the three that show what ptxas did.
_SHOWN = frozenset(["instructions", "lane_instructions", "divergent_branches"])
NCU: dict[str, str] = {
    name: row.ncu for name, row in METRICS.items() if row.relation in (_EQUAL, _BOUNDED) or name in _SHOWN
}
