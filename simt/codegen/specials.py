"""Special registers: where in the machine's state each one lies."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from llvmlite import ir

from simt.codegen.emitter import I32, I64
from simt.codegen.prepare import Unsupported
from simt.engine.state import Block, Launch, Warp
from simt.isa.special import SPECIAL_REGISTERS

if TYPE_CHECKING:
    from simt.codegen.writer import Writer

__all__ = ["SPECIALS", "special"]

_AXES = {"x": 0, "y": 1, "z": 2}


def _in_cluster(of: str, divided: bool) -> Callable:
    """A coordinate of the cluster in the grid, of the block in its cluster, or of clusters in all."""

    def load(w: Writer, axis: int) -> ir.Value:
        whole = _ctaid(w, axis) if of == "block" else _launch_axis("grid")(w, axis)
        size = _launch_axis("cluster")(w, axis)
        return w.b.udiv(whole, size) if divided else w.b.urem(whole, size)

    return load


def _environment(shift: int) -> Callable:
    """Half of the address of a cooperative launch's workspace, as cooperative_groups puts it together."""

    def load(w: Writer, axis: int) -> ir.Value:
        place = w.load_field(Launch, w.launch, "workspace", I64)
        return w.b.trunc(w.b.lshr(place, ir.Constant(I64, shift)), I32)

    return load


def _is_explicit(w: Writer, axis: int) -> ir.Value:
    return w.b.icmp_unsigned("!=", w.load_field(Launch, w.launch, "explicit_cluster", I32), ir.Constant(I32, 0))


def _constant(value: int) -> Callable:
    return lambda w, axis: ir.Constant(I32, value)


def _tid(w: Writer, axis: int) -> ir.Value:
    vector = ir.VectorType(I32, 32)
    if w.plan.block_dim[axis] == 1:
        return ir.Constant(I32, 0)
    name = ("tid_x", "tid_y", "tid_z")[axis]
    place = w.field(Warp, w.warp, name)
    if f"%tid.{'xyz'[axis]}" in w.plan.row_specials:
        return w.b.load(place, typ=I32)
    return w.b.load(place, typ=vector, align=4)


def _ctaid(w: Writer, axis: int) -> ir.Value:
    return w.load_field(Block, w.block_ptr, "xyz"[axis], I32)


def _launch_axis(name: str) -> Callable:
    def load(w: Writer, axis: int) -> ir.Value:
        place = w.at(w.field(Launch, w.launch, name), 4 * axis)
        return w.b.load(place, typ=I32)

    return load


def _laneid(w: Writer, axis: int) -> ir.Value:
    return ir.Constant(ir.VectorType(I32, 32), list(range(32)))


def _lane_masks(make: Callable[[int], int]) -> Callable:
    return lambda w, axis: ir.Constant(ir.VectorType(I32, 32), [make(lane) & 0xFFFFFFFF for lane in range(32)])


def _clock(bits: int, shift: int = 0) -> Callable:
    def load(w: Writer, axis: int) -> ir.Value:
        now = w.native("virtual_clock", I64, w.warp)
        if shift:
            now = w.b.lshr(now, ir.Constant(I64, shift))
        return now if bits == 64 else w.b.trunc(now, I32)

    return load


def _field(record, name: str, pointer: str) -> Callable:
    def load(w: Writer, axis: int) -> ir.Value:
        kind = record.fields[name].llvm
        value = w.load_field(record, getattr(w, pointer), name, kind)
        return w.b.trunc(value, I32) if kind == I64 else value

    return load


SPECIALS: dict[str, Callable] = {
    "tid": _tid,
    "ntid": lambda w, axis: ir.Constant(I32, w.plan.block_dim[axis]),
    "ctaid": _ctaid,
    "nctaid": _launch_axis("grid"),
    "clusterid": _in_cluster("block", divided=True),
    "nclusterid": _in_cluster("grid", divided=True),
    "cluster_ctaid": _in_cluster("block", divided=False),
    "cluster_nctaid": _launch_axis("cluster"),
    "cluster_ctarank": _field(Block, "rank", "block_ptr"),
    "cluster_nctarank": _field(Launch, "cluster_blocks", "launch"),
    "is_explicit_cluster": _is_explicit,
    "envreg1": _environment(32),
    "envreg2": _environment(0),
    "laneid": _laneid,
    "warpid": _field(Warp, "index", "warp"),
    "nwarpid": _field(Launch, "warps_per_block", "launch"),
    "smid": _constant(0),
    "nsmid": _constant(1),
    "gridid": _constant(0),
    "lanemask_eq": _lane_masks(lambda lane: 1 << lane),
    "lanemask_lt": _lane_masks(lambda lane: (1 << lane) - 1),
    "lanemask_le": _lane_masks(lambda lane: (2 << lane) - 1),
    "lanemask_gt": _lane_masks(lambda lane: ~((2 << lane) - 1)),
    "lanemask_ge": _lane_masks(lambda lane: ~((1 << lane) - 1)),
    "clock": _clock(32),
    "clock64": _clock(64),
    "clock_hi": _clock(32, 32),
    "globaltimer": _clock(64),
    "globaltimer_lo": _clock(32),
    "globaltimer_hi": _clock(32, 32),
    "dynamic_smem_size": lambda w, axis: w.b.sub(
        _field(Launch, "shared_bytes", "launch")(w, axis), ir.Constant(I32, w.plan.static_shared_bytes)
    ),
    "total_smem_size": _field(Launch, "shared_bytes", "launch"),
}


def special(w: Writer, name: str, instruction) -> ir.Value:
    """The value of a special register, scalar where it is uniform.

    Raises:
        Unsupported: a register that simt does not have.
    """
    stem, _, axis = name.removeprefix("%").partition(".")
    if stem not in SPECIALS or name not in SPECIAL_REGISTERS:
        raise Unsupported(f"special register `{name}`", instruction)
    return SPECIALS[stem](w, _AXES.get(axis, 0))
