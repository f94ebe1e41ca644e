"""Matrix operations of a whole warp: who must be there for them."""

from __future__ import annotations

from simt.engine.findings import SYNC_MASK, record
from simt.engine.native import native
from simt.engine.records import Ptr, i32, u32, u64, void
from simt.engine.state import CheckBit, Warp

__all__ = ["MATRIX"]

EVERYBODY = 0xFFFFFFFF


@native
def whole_warp(warp: Ptr[Warp], site: i32, mask: u32) -> void:
    """All 32 lanes must run a matrix instruction together; says which do not."""
    if mask != 0 and mask != EVERYBODY and warp.block.launch.checks & CheckBit.SYNCCHECK:
        record(warp, SYNC_MASK, site, -1, ~mask, 0, u64(EVERYBODY), 1)


MATRIX = (whole_warp,)
