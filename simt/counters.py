"""Counters of a launch, named after what Nsight Compute measures; integers only, ratios are properties.

`NCU` maps each counter to the Nsight Compute metric it equals, or "" where the hardware has no such metric.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

__all__ = ["NCU", "Counters", "add"]


@dataclass(frozen=True, slots=True)
class Counters:
    """Totals over warps. A request is one warp-level memory instruction with at least one active lane.

    Sectors are 32-byte sectors. Wavefronts are passes through shared memory; excess is wavefronts beyond the ideal for
    that access width (bank conflicts). `useful` bytes are what active lanes asked for. `ldmatrix`, and a `wmma` load that becomes
    one, is a request of its own kind as Nsight counts it; its wavefronts are among the shared loads'.
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
    atomic_global_requests: int = 0
    atomic_global_sectors: int = 0
    atomic_shared_requests: int = 0
    atomic_shared_wavefronts: int = 0
    instructions: int = 0
    lane_instructions: int = 0
    branches: int = 0
    divergent_branches: int = 0
    barriers: int = 0
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


NCU: dict[str, str] = {
    "global_load_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "global_load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "global_store_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "global_store_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "shared_load_requests": "smsp__sass_inst_executed_op_shared_ld.sum",
    "shared_load_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared_load_excess": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "ldmatrix_requests": "smsp__sass_inst_executed_op_ldsm.sum",
    "shared_store_requests": "smsp__sass_inst_executed_op_shared_st.sum",
    "shared_store_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "shared_store_excess": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "atomic_global_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum",
    "atomic_global_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",
    "instructions": "smsp__inst_executed.sum",
    "lane_instructions": "smsp__thread_inst_executed.sum",
    "divergent_branches": "smsp__sass_branch_targets_threads_divergent.sum",
}
