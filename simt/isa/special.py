"""Special registers: the rows that read one, and the list of them with their types. The engine supplies the values."""

from __future__ import annotations

from simt.isa.op import Op, Role
from simt.ptx.types import TYPES, PtxType

__all__ = ["ROWS", "SPECIAL_REGISTERS"]

_U32 = (
    "%laneid", "%warpid", "%nwarpid", "%smid", "%nsmid", "%clock", "%clock_hi", "%globaltimer_lo", "%globaltimer_hi",
    "%lanemask_eq", "%lanemask_le", "%lanemask_lt", "%lanemask_ge", "%lanemask_gt", "%total_smem_size",
    "%dynamic_smem_size", "%aggr_smem_size", "%cluster_ctarank", "%cluster_nctarank", "%reserved_smem_offset_begin",
    "%reserved_smem_offset_end", "%reserved_smem_offset_cap",
)  # fmt: skip
_U64 = ("%clock64", "%globaltimer", "%gridid", "%current_graph_exec")
_VECTORS = ("%tid", "%ntid", "%ctaid", "%nctaid", "%clusterid", "%nclusterid", "%cluster_ctaid", "%cluster_nctaid")

# PTX ISA, "Special Registers": name as an instruction spells it -> the register's own type.
SPECIAL_REGISTERS: dict[str, PtxType] = {
    **dict.fromkeys(_U32, TYPES["u32"]),
    **dict.fromkeys(_U64, TYPES["u64"]),
    **{f"{name}.{axis}": TYPES["u32"] for name in _VECTORS for axis in "xyz"},
    **{f"%envreg{index}": TYPES["b32"] for index in range(32)},
    **{f"%pm{index}": TYPES["u32"] for index in range(8)},
    **{f"%pm{index}_64": TYPES["u64"] for index in range(8)},
    "%is_explicit_cluster": TYPES["pred"],
}

ROWS = (
    Op("mov", ("mov.{pred,u16,u32,u64,s32,s64,b16,b32,b64}.special",), role=Role.SPECIAL,
       section="Special Registers", note="SM and performance-monitor numbers are made up"),
)  # fmt: skip
