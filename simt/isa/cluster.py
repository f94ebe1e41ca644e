"""Clusters: mapa getctarank barrier.cluster st.async red.async. The engine carries them out."""

from __future__ import annotations

from simt.isa.op import Op, Role

__all__ = ["ROWS"]

_MOVES = "Data Movement and Conversion Instructions: "
_SYNC = "Parallel Synchronization and Communication Instructions: "
_DONE = "mbarrier::complete_tx::bytes"
_EARLY = "the bytes arrive at once: a missing wait at the mbarrier does not show"

ROWS = (
    Op("mapa", ("mapa{.shared::cluster}.{u32,u64}",), role=Role.MEMORY, since=("7.8", 90), section=_MOVES + "mapa"),
    Op("getctarank", ("getctarank{.shared::cluster}.{u32,u64}",), role=Role.MEMORY, since=("7.8", 90),
       section=_MOVES + "getctarank"),
    Op("barrier", ("barrier.cluster.arrive{.release,.relaxed}{.aligned}", "barrier.cluster.wait{.acquire}{.aligned}"),
       role=Role.BARRIER, since=("7.8", 90), section=_SYNC + "barrier.cluster", note="relaxed orders as release does"),
    Op("st", (f"st.async{{.weak}}{{.shared::cluster}}.{_DONE}{{.v2,.v4}}.{{b32,b64,u32,u64,s32,s64,f32,f64}}",),
       role=Role.ASYNC, since=("8.1", 90), section=_MOVES + "st.async", note=_EARLY),
    Op("red", tuple(
        f"red.async.relaxed.cluster{{.shared::cluster}}.{_DONE}.{verb}"
        for verb in ("{inc,dec}.u32", "{min,max,add}.{u32,s32}", "add.u64", "{and,or,xor}.b32")
    ), role=Role.ASYNC, since=("8.1", 90), section=_SYNC + "red.async", note=_EARLY),
)  # fmt: skip
