"""Recorded steps of a warp → a `WarpTrace`."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from simt.codegen.plan import Plan
from simt.engine.stepping import ADDRESSES, STEP, TAKEN
from simt.engine.trace_records import StepRecord
from simt.ptx.syntax import Instruction
from simt.ptx.types import Kind, PtxType
from simt.ptx.usedef import defs
from simt.runner.states import LaunchState
from simt.warp_trace import LANES, Step, WarpRequest, WarpTrace, named_variables

__all__ = ["PARTS", "read_steps"]

PARTS = 4  # records of a step, about
_SPACES = ("global", "shared", "local", "const", "param")
_FLOATS = {16: "<e", 32: "<f", 64: "<d"}


def read_steps(plan: Plan, launch: LaunchState, request: WarpRequest, kernel: str, source: str) -> WarpTrace:
    """What was kept of the warp that `request` names."""
    assert plan.steps is not None
    instructions = dict(plan.steps.values())
    count = launch.record.step_count
    kept = launch.steps[: min(count, launch.record.step_limit)]
    groups = list(_groups(kept))
    if count > len(kept):
        groups = groups[:-1]  # its last parts may be missing
    steps = [_step(plan, instructions[group[0].index], group) for group in groups[: request.limit]]
    kinds = [_last_kind(plan, row) for row in steps]
    truncated = count > len(kept) or len(groups) > request.limit
    names = named_variables(source, [(row.line, kind) for row, kind in zip(steps, kinds, strict=True)], not truncated)
    named = tuple(
        row if name is None else Step(**{key: getattr(row, key) for key in Step.__slots__} | {"variable": name})
        for row, name in zip(steps, names, strict=True)
    )
    return WarpTrace(kernel, request.block, request.warp, named, truncated)


def _groups(kept: list[StepRecord]) -> Iterator[list[StepRecord]]:
    """The records of each step, the one that begins it first."""
    group: list[StepRecord] = []
    for record in kept:
        if record.part == STEP and group:
            yield group
            group = []
        group.append(record)
    if group:
        yield group


def _step(plan: Plan, instruction: Instruction, group: list[StepRecord]) -> Step:
    active, registers = group[0].mask, defs(instruction)
    written: dict[str, tuple[int | float | bool | None, ...]] = {}
    addresses: tuple[int | None, ...] = ()
    taken = None
    for record in group[1:]:
        values: list[int] = list(record.values)
        if record.part == ADDRESSES:
            addresses = tuple(values[lane] if active >> lane & 1 else None for lane in range(LANES))
        elif record.part == TAKEN:
            taken = record.mask
        else:
            name = registers[record.part]
            kind = plan.function.registers[name]
            written[name] = tuple(_value(values[lane], kind) if active >> lane & 1 else None for lane in range(LANES))
    space = next((mod.partition("::")[0] for mod in instruction.mods if mod.partition("::")[0] in _SPACES), None)
    return Step(
        plan.line(instruction), instruction.ptx_line, instruction.opcode, active, written,
        space or "generic" if addresses else None, addresses, taken, group[0].in_flight,
    )  # fmt: skip


def _value(bits: int, kind: PtxType) -> int | float | bool:
    """The number that a register's bits are."""
    if kind.kind is Kind.PRED:
        return bool(bits & 1)
    bits &= (1 << kind.bits) - 1
    if kind.kind is Kind.FLOAT:
        return struct.unpack(_FLOATS[kind.bits], bits.to_bytes(kind.bits // 8, "little"))[0]
    signed = kind.kind is not Kind.UNSIGNED and bits >> (kind.bits - 1)
    return bits - (1 << kind.bits) if signed else bits


def _last_kind(plan: Plan, step: Step) -> str:
    """The type of the register that a step wrote last, "" for none and for predicates."""
    if not step.written:
        return ""
    kind = plan.function.registers[list(step.written)[-1]]
    return "" if kind.kind is Kind.PRED else kind.name
