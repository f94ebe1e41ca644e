"""Pairs of 16-bit integers and pairs of f32 in one register, and the video instruction that compilers still emit."""

from __future__ import annotations

import numpy as np

from simt.isa.floating import emit_operate, operate
from simt.isa.op import Form, Op, Shape
from simt.isa.shapes import of
from simt.ptx.types import TYPES

__all__ = ["ROWS"]

_INTEGER = "Integer Arithmetic Instructions: "
_CONVERT = "Data Movement and Conversion Instructions: cvt.pack"
_B32 = TYPES["b32"]


def _words(n_sources: int):
    """Operands of `.u16x2` and `.s16x2` forms, which name no scalar type: 32 bits each."""
    return lambda form: Shape((_B32,), (_B32,) * n_sources)


def _lanes(a: np.ndarray, bits: int, signed: bool) -> np.ndarray:
    """(32, n) parts of 32-bit registers, lowest first."""
    return np.ascontiguousarray(a)[:, None].view(f"{'' if signed else 'u'}int{bits}")


def _is_signed(form: Form) -> bool:
    return form.has("s16x2")


def _by_words(function):
    """`eval` from a function of (32, 2) int64 values of the two halves."""

    def evaluate(form, *sources):
        parts = [_lanes(source, 16, _is_signed(form)).astype(np.int64) for source in sources]
        result = function(*parts)
        if form.has("relu"):
            result = np.maximum(result, 0)
        return np.ascontiguousarray(result.astype(np.uint16)).view(np.uint32)[:, 0]

    return evaluate


def _emit_by_words(function):
    def emit(e, form, *sources):
        low, high = zip(*(e.halves(source) for source in sources), strict=True)
        results = []
        for part in (low, high):
            result = function(e, form, *part)
            results.append(e.intrinsic("llvm.smax", result, e.const(result, 0)) if form.has("relu") else result)
        return e.joined(*results)

    return emit


def _emit_extreme(name: str):
    return lambda e, form, a, b: e.intrinsic(f"llvm.{'s' if _is_signed(form) else 'u'}{name}", a, b)


def _pair_shape(n_sources: int):
    return lambda form: Shape((TYPES["b64"],), (TYPES["b64"],) * n_sources)


def _f32x2(name: str, n_sources: int, operation: str) -> Op:
    """A row that does an f32 operation on both halves of a 64-bit register."""

    def evaluate(form, *sources):
        parts = [_lanes64(source) for source in sources]
        results = [operate(form, operation, *(part[:, index] for part in parts)) for index in (0, 1)]
        return np.ascontiguousarray(np.stack(results, axis=1)).view(np.uint64)[:, 0]

    def emit(e, form, *sources):
        halves = zip(*(e.halves(source) for source in sources), strict=True)
        return e.joined(*(e.bits(emit_operate(e, form, operation, *map(e.of_bits, part))) for part in halves))

    modes = ".{rn,rz,rm,rp}" if name == "fma" else "{.rn,.rz,.rm,.rp}"
    return Op(
        name,
        (f"{name}{modes}{{.ftz}}.f32x2",),
        shape=_pair_shape(n_sources),
        eval=evaluate,
        emit=emit,
        since=("8.6", 100),
        section=f"Floating Point Instructions: {name}",
    )


def _lanes64(a: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(a)[:, None].view(np.float32)


def _vabsdiff4(form, a, b, c):
    left, right = (
        _lanes(x, 8, type_.is_signed).astype(np.int64) for x, type_ in zip((a, b), form.types[1:], strict=True)
    )
    difference = np.abs(left - right)
    if form.has("add"):
        return (difference.sum(axis=1) + c.astype(np.int64)).astype(np.uint64).astype(np.uint32).view(c.dtype)
    if form.has("sat"):
        difference = np.minimum(difference, 127 if form.type.is_signed else 255)
    return np.ascontiguousarray(difference.astype(np.uint8)).view(c.dtype)[:, 0]


def _emit_vabsdiff4(e, form, a, b, c):
    result = c if form.has("add") else e.const(a, 0)
    for index in range(4):
        parts = []
        for x, type_ in zip((a, b), form.types[1:], strict=True):
            top = e.shl(x, 24 - 8 * index)
            parts.append(e.ashr(top, 24) if type_.is_signed else e.lshr(top, 24))
        difference = e.flagged("llvm.abs", e.sub(*parts))
        if form.has("sat"):
            difference = e.intrinsic("llvm.umin", difference, e.const(difference, 127 if form.type.is_signed else 255))
        if form.has("add"):
            result = e.add(result, difference)
        else:
            result = e.or_(result, e.shl(e.and_(difference, 255), 8 * index))
    return result


def _video_shape(form: Form) -> Shape:
    result, a, b = form.types
    return Shape((result,), (a, b, result))


def _narrow(form: Form) -> tuple[int, bool]:
    """(bits, is signed) of the type that `cvt.pack` converts to."""
    return int(form.mods[2][1:]), form.mods[2][0] == "s"


def _cvt_pack(form, a, b, c=None):
    bits, signed = _narrow(form)
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    upper, lower = (np.clip(x.astype(np.int64), low, high) & (1 << bits) - 1 for x in (a, b))
    kept = 0 if c is None else c.astype(np.int64) << 2 * bits
    return (kept | upper << bits | lower).astype(np.uint32)


def _emit_cvt_pack(e, form, a, b, c=None):
    bits, signed = _narrow(form)
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    clamped = (e.intrinsic("llvm.smax", e.intrinsic("llvm.smin", x, e.const(x, high)), e.const(x, low)) for x in (a, b))
    upper, lower = (e.and_(x, (1 << bits) - 1) for x in clamped)
    packed = e.or_(e.shl(upper, bits), lower)
    return packed if c is None else e.or_(packed, e.shl(c, 2 * bits))


ROWS = (
    Op("cvt", ("cvt.pack.sat.{u16,s16}.s32",), shape=of("b32", "s32", "s32"), eval=_cvt_pack, emit=_emit_cvt_pack,
       since=("6.5", 72), section=_CONVERT),
    Op("cvt", ("cvt.pack.sat.{u8,s8}.s32.b32",), shape=of("b32", "s32", "s32", "b32"), eval=_cvt_pack,
       emit=_emit_cvt_pack, since=("6.5", 72), section=_CONVERT),
    Op("cvt", ("cvt.pack.sat.{u2,s2,u4,s4}.s32.b32",), shape=of("b32", "s32", "s32", "b32"), eval=_cvt_pack,
       emit=_emit_cvt_pack, since=("6.5", 75), section=_CONVERT),
    Op("add", ("add.{u16x2,s16x2}",), shape=_words(2), eval=_by_words(lambda a, b: a + b),
       emit=_emit_by_words(lambda e, form, a, b: e.add(a, b)), since=("8.0", 90), section=_INTEGER + "add"),
    *(
        Op(name, (f"{name}.{{u16x2,s16x2}}", f"{name}.relu.s16x2", f"{name}.s16x2.relu"), shape=_words(2),
           eval=_by_words(choose), emit=_emit_by_words(_emit_extreme(name)), since=("8.0", 90), section=_INTEGER + name)
        for name, choose in (("min", np.minimum), ("max", np.maximum))
    ),
    _f32x2("add", 2, "add"),
    _f32x2("sub", 2, "sub"),
    _f32x2("mul", 2, "mul"),
    _f32x2("fma", 3, "fma"),
    Op("vabsdiff4", ("vabsdiff4.{u32,s32}.{u32,s32}.{u32,s32}{.sat,.add}",), shape=_video_shape, eval=_vabsdiff4,
       emit=_emit_vabsdiff4, since=("3.0", 30), section="Video Instructions: vabsdiff4",
       note="without byte selectors and masks; results of bytes below -128 or above the range wrap unless .sat"),
)  # fmt: skip
