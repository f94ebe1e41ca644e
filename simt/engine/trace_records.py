"""What a traced launch writes down: requests to memory, and the steps of one warp that is followed."""

from __future__ import annotations

from simt.engine.records import Array, Record, i32, i64, u32, u64

__all__ = ["StepRecord", "TraceRecord"]


class TraceRecord(Record):
    site: i32
    warp: i32
    block: i64
    mask: u32
    scope: i32
    addresses: Array[u64, 32]


class StepRecord(Record):
    """A part of one step of a warp that is followed; see `simt.engine.stepping`."""

    index: i32  # of the instruction in `Plan.steps`
    part: i32
    mask: u32
    in_flight: u32
    values: Array[u64, 32]
