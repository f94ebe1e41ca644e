"""Barriers and fences: bar barrier membar fence. The engine carries them out."""

from __future__ import annotations

from simt.isa.op import Op, Role

__all__ = ["ROWS"]

_SECTION = "Parallel Synchronization and Communication Instructions: "
_REDUCTION = "{popc.u32,and.pred,or.pred}"

ROWS = (
    Op("bar", ("bar{.cta}.sync", "bar{.cta}.arrive", f"bar{{.cta}}.red.{_REDUCTION}"), role=Role.BARRIER,
       section=_SECTION + "bar"),
    Op("barrier", (
        "barrier{.cta}.sync{.aligned}", "barrier{.cta}.arrive{.aligned}",
        f"barrier{{.cta}}.red{{.aligned}}.{_REDUCTION}",
    ), role=Role.BARRIER, since=("6.0", 30), section=_SECTION + "barrier"),
    Op("bar", ("bar.warp.sync",), role=Role.BARRIER, since=("6.0", 30), section=_SECTION + "bar.warp.sync"),
    Op("membar", ("membar.{cta,gl,sys}",), role=Role.BARRIER, since=("1.4", 0), section=_SECTION + "membar"),
    Op("fence", ("fence{.sc,.acq_rel,.acquire,.release}.{cta,cluster,gpu,sys}",), role=Role.BARRIER, since=("6.0", 70),
       section=_SECTION + "fence"),
)  # fmt: skip
