"""What one warp does, step by step, kept only when asked; code for it is made apart (`simt.codegen.stepping`)."""

from __future__ import annotations

from simt.engine.native import native
from simt.engine.records import Ptr, i32, u8, u32, void
from simt.engine.state import Warp

__all__ = ["ADDRESSES", "STEPPING", "STEP", "TAKEN"]

# Parts of a step besides the numbers of its results.
STEP = -1  # it begins: who runs it
ADDRESSES = -2
TAKEN = -3  # the lanes of a branch that jump


@native
def trace_step(warp: Ptr[Warp], index: i32, part: i32, mask: u32, values: Ptr[u8]) -> void:
    """Keeps a part of a step of the warp that is followed; `values` are 32 of 8 bytes, or null."""
    launch = warp.block.launch
    if warp.block.linear != launch.step_block or warp.index != launch.step_warp:
        return
    if launch.step_count < launch.step_limit:
        kept = launch.steps + launch.step_count
        kept.index = index
        kept.part = part
        kept.mask = mask
        kept.in_flight = 0
        if not is_null(warp.flights):
            kept.in_flight = warp.next_flight - warp.first_flight
        if not is_null(values):
            memcpy(addr(kept.values), values, 256)
    launch.step_count += 1


STEPPING = (trace_step,)
