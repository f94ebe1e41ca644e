"""Atomic operations on memory: atom red. The engine carries them out."""

from __future__ import annotations

from simt.isa.op import Op, Role

__all__ = ["ROWS"]

_SECTION = "Parallel Synchronization and Communication Instructions: "
_SPACE = "{.global,.shared,.shared::cta,.shared::cluster}"
_SCOPE = "{.cta,.cluster,.gpu,.sys}"
_HINT = "{.L2::cache_hint}"

_ARITHMETIC = (
    "{and,or,xor}%s.{b32,b64}",
    "add%s.{u32,s32,u64,f32}",
    "{inc,dec}%s.u32",
    "{min,max}%s.{u32,s32,u64,s64}",
)
_EXCHANGE = ("exch%s.{b32,b64}", "cas%s.{b32,b64}")


def _forms(name: str, order: str, operations: tuple[str, ...]) -> tuple[str, ...]:
    """The ISA's order of modifiers, NVRTC's `atom.global.cta.add.u32`, and libcu++'s `atom.add.acquire.gpu.s32`."""
    stated = order.replace("{.", ".{").replace(",.", ",")
    made = []
    for operation in operations:
        verb, _, types = operation.partition("%s")
        made += [
            f"{name}{order}{_SCOPE}{_SPACE}.{verb}{_HINT}{types}",
            f"{name}.{{global,shared}}.{{cta,cluster,gpu,sys}}.{verb}{_HINT}{types}",
            f"{name}.{verb}{stated}{_SCOPE}{_SPACE}{_HINT}{types}",
        ]
    return tuple(made)


def _rows(name: str, order: str, exchange: tuple[str, ...]) -> tuple[Op, ...]:
    section = _SECTION + name
    narrow = ("add.noftz%s.{f16,f16x2,bf16,bf16x2}",)
    return (
        Op(name, _forms(name, order, _ARITHMETIC + exchange), role=Role.MEMORY, since=("1.1", 11), section=section),
        Op(name, _forms(name, order, ("add%s.f64",)), role=Role.MEMORY, since=("5.0", 60), section=section),
        Op(name, _forms(name, order, narrow), role=Role.MEMORY, since=("6.2", 60), section=section),
    )


ROWS = (
    *_rows("atom", "{.relaxed,.acquire,.release,.acq_rel}", _EXCHANGE),
    Op("atom", _forms("atom", "{.relaxed,.acquire,.release,.acq_rel}", ("cas%s.b16",)), role=Role.MEMORY,
       since=("6.3", 70), section=_SECTION + "atom"),
    *_rows("red", "{.relaxed,.release}", ()),
)  # fmt: skip
