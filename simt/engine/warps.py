"""The warps of a block: their records lie one after another."""

from __future__ import annotations

from simt.engine.native import inlined, native
from simt.engine.records import Ptr, i32
from simt.engine.state import Block, Warp

__all__ = ["warp_of"]


@inlined
@native
def warp_of(block: Ptr[Block], index: i32) -> Ptr[Warp]:
    """The record of a block's warp."""
    return cast(Ptr[Warp], block.warps) + index
