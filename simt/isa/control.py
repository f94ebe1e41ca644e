"""Control flow and the instructions that only pass time: bra brx call ret exit trap nanosleep. The engine runs them."""

from __future__ import annotations

from simt.isa.op import Op, Role

__all__ = ["ROWS"]

_CONTROL = "Control Flow Instructions: "
_OTHER = "Miscellaneous Instructions: "

ROWS = (
    Op("bra", ("bra{.uni}",), role=Role.CONTROL, section=_CONTROL + "bra"),
    Op("brx", ("brx.idx{.uni}",), role=Role.CONTROL, since=("6.0", 30), section=_CONTROL + "brx.idx"),
    Op("call", ("call{.uni}",), role=Role.CONTROL, section=_CONTROL + "call"),
    Op("ret", ("ret{.uni}",), role=Role.CONTROL, section=_CONTROL + "ret"),
    Op("exit", ("exit",), role=Role.CONTROL, section=_CONTROL + "exit"),
    Op("trap", ("trap",), role=Role.CONTROL, section=_OTHER + "trap"),
    Op("brkpt", ("brkpt",), role=Role.CONTROL, since=("1.0", 11), section=_OTHER + "brkpt"),
    Op("nanosleep", ("nanosleep.u32",), role=Role.CONTROL, since=("6.3", 70), section=_OTHER + "nanosleep"),
    Op("pmevent", ("pmevent{.mask}",), role=Role.NONE, since=("1.4", 0), section=_OTHER + "pmevent",
       note="no performance monitor to trigger"),
    Op("griddepcontrol", ("griddepcontrol.{launch_dependents,wait}",), role=Role.NONE, since=("7.8", 90),
       section="Parallel Synchronization and Communication Instructions: griddepcontrol",
       note="launches do not overlap, so there is nothing to wait for"),
)  # fmt: skip
