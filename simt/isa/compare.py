"""Comparison and selection: setp set selp slct."""

from __future__ import annotations

import numpy as np

from simt.isa.op import Form, Op, Shape
from simt.isa.rounding import emit_flush, flush
from simt.isa.shapes import PRED
from simt.ptx.types import Kind

__all__ = ["COMPARISONS", "ROWS", "compared", "emit_compared"]

_SECTION = "Comparison and Selection Instructions: "

_SIGNS = {
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "lo": "<",
    "ls": "<=",
    "hi": ">",
    "hs": ">=",
}
_UNORDERED = {"equ": "==", "neu": "!=", "ltu": "<", "leu": "<=", "gtu": ">", "geu": ">="}
_UFUNCS = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}

COMPARISONS = "{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}"  # of floats


def compared(relation: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(32,) bool of a PTX comparison by name; `ltu` and its like hold on NaN, `lt` and its like do not."""
    unordered = np.isnan(a) | np.isnan(b) if a.dtype.kind == "f" else np.zeros(a.shape, bool)
    if relation == "num":
        return ~unordered
    if relation == "nan":
        return unordered
    if relation in _UNORDERED:
        return _UFUNCS[_UNORDERED[relation]](a, b) | unordered
    return _UFUNCS[_SIGNS[relation]](a, b) & ~unordered


def emit_compared(e, relation: str, a, b, signed: bool = False, is_float: bool = True):
    """`compared` in IR."""
    if not is_float:
        return e.icmp(_SIGNS[relation], a, b, signed)
    if relation == "num":
        return e.fcmp("ord", a, b)
    if relation == "nan":
        return e.fcmp("uno", a, b)
    unordered = relation in _UNORDERED
    return e.fcmp((_UNORDERED if unordered else _SIGNS)[relation], a, b, unordered)


def _combined(form: Form, p, c, and_, or_, xor):
    """`p` joined with a source predicate by the form's boolean operator."""
    operator = {"and": and_, "or": or_, "xor": xor}
    return next(operator[mod] for mod in form.mods if mod in operator)(p, c)


def _has_operator(form: Form) -> bool:
    return any(mod in ("and", "or", "xor") for mod in form.mods)


def _operands(form: Form, a, b):
    return (flush(a), flush(b)) if form.has("ftz") else (a, b)


def _setp(form, a, b, c=None):
    p = compared(form.mods[0], *_operands(form, a, b))
    q = ~p
    if c is not None:
        p, q = (_combined(form, x, c, np.logical_and, np.logical_or, np.logical_xor) for x in (p, q))
    return (p, q) if form.has("pair") else p


def _emit_setp(e, form, a, b, c=None):
    if form.has("ftz"):
        a, b = emit_flush(e, a), emit_flush(e, b)
    p = emit_compared(e, form.mods[0], a, b, form.type.is_signed, form.type.is_float)
    results = (p, e.not_(p)) if form.has("pair") else (p,)
    if c is not None:
        results = tuple(_combined(form, x, c, e.and_, e.or_, e.xor) for x in results)
    return results if form.has("pair") else results[0]


def _setp_shape(form: Form) -> Shape:
    results = (PRED, PRED) if form.has("pair") else (PRED,)
    return Shape(results, (form.type, form.type) + ((PRED,) if _has_operator(form) else ()))


def _set(form, a, b, c=None):
    p = compared(form.mods[0], *_operands(form, a, b))
    if c is not None:
        p = _combined(form, p, c, np.logical_and, np.logical_or, np.logical_xor)
    if form.types[0].is_float:
        return p.astype(np.float32)
    return np.where(p, np.int32(-1), np.int32(0)).view(form.types[0].dtype)


def _emit_set(e, form, a, b, c=None):
    if form.has("ftz"):
        a, b = emit_flush(e, a), emit_flush(e, b)
    source = form.types[1]
    p = emit_compared(e, form.mods[0], a, b, source.is_signed, source.is_float)
    if c is not None:
        p = _combined(form, p, c, e.and_, e.or_, e.xor)
    return e.uitofp(p, 32) if form.types[0].is_float else e.sext(p, 32)


def _set_shape(form: Form) -> Shape:
    result, source = form.types
    return Shape((result,), (source, source) + ((PRED,) if _has_operator(form) else ()))


def _selp_shape(form: Form) -> Shape:
    return Shape((form.type,), (form.type, form.type, PRED))


def _slct_shape(form: Form) -> Shape:
    result, condition = form.types
    return Shape((result,), (result, result, condition))


def _slct(form, a, b, c):
    condition = flush(c) if form.has("ftz") else c
    return np.where(condition >= 0, a, b)


def _emit_slct(e, form, a, b, c):
    if form.types[1].kind is Kind.SIGNED:
        return e.select(e.icmp(">=", c, 0, signed=True), a, b)
    return e.select(e.fcmp(">=", emit_flush(e, c) if form.has("ftz") else c, 0.0), a, b)


_JOIN = "{.and,.or,.xor}"
_UNSIGNED, _SIGNED = "{eq,ne,lt,le,gt,ge,lo,ls,hi,hs}", "{eq,ne,lt,le,gt,ge}"
_SOURCES = "{b16,b32,b64,u16,u32,u64,s16,s32,s64,f32,f64}"

_SETP = (
    f"setp.{{eq,ne}}{_JOIN}.{{b16,b32,b64}}{{.pair}}",
    f"setp.{_UNSIGNED}{_JOIN}.{{u16,u32,u64}}{{.pair}}",
    f"setp.{_SIGNED}{_JOIN}.{{s16,s32,s64}}{{.pair}}",
    f"setp.{COMPARISONS}{_JOIN}{{.ftz}}.f32{{.pair}}",
    f"setp.{COMPARISONS}{_JOIN}.f64{{.pair}}",
)
_SET = (
    f"set.{{eq,ne}}{_JOIN}.{{u32,s32,f32}}.{{b16,b32,b64}}",
    f"set.{_UNSIGNED}{_JOIN}.{{u32,s32,f32}}.{{u16,u32,u64}}",
    f"set.{_SIGNED}{_JOIN}.{{u32,s32,f32}}.{{s16,s32,s64}}",
    f"set.{COMPARISONS}{_JOIN}{{.ftz}}.{{u32,s32,f32}}.f32",
    f"set.{COMPARISONS}{_JOIN}.{{u32,s32,f32}}.f64",
)

ROWS = (
    Op("setp", _SETP, shape=_setp_shape, eval=_setp, emit=_emit_setp, section=_SECTION + "setp"),
    Op("set", _SET, shape=_set_shape, eval=_set, emit=_emit_set, section=_SECTION + "set"),
    Op("selp", (f"selp.{_SOURCES}",), shape=_selp_shape, eval=lambda form, a, b, c: np.where(c, a, b),
       emit=lambda e, form, a, b, c: e.select(c, a, b), section=_SECTION + "selp"),
    Op("slct", (f"slct.{_SOURCES}.s32", f"slct{{.ftz}}.{_SOURCES}.f32"), shape=_slct_shape, eval=_slct, emit=_emit_slct,
       section=_SECTION + "slct"),
)  # fmt: skip
