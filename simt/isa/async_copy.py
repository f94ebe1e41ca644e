"""Copies that go on beside the program: cp.async and what waits for it. The engine carries them out."""

from __future__ import annotations

from simt.isa.op import Op, Role

__all__ = ["ROWS"]

_SECTION = "Data Movement and Conversion Instructions: Asynchronous copy: "
_HINTS = "{.L2::cache_hint}{.L2::64B,.L2::128B,.L2::256B}"

ROWS = (
    Op("cp", (f"cp.async.{{ca,cg}}.{{shared,shared::cta}}.global{_HINTS}",), role=Role.ASYNC, since=("7.0", 80),
       section=_SECTION + "cp.async", note="the bytes arrive at the thread's wait, as late as they may"),
    Op("cp", ("cp.async.commit_group",), role=Role.ASYNC, since=("7.0", 80), section=_SECTION + "cp.async.commit_group"),
    Op("cp", ("cp.async.{wait_group,wait_all}",), role=Role.ASYNC, since=("7.0", 80),
       section=_SECTION + "cp.async.wait_group"),
)
