"""Arithmetic on f32 and f64: add sub mul fma mad div rcp sqrt abs neg min max copysign testp."""

from __future__ import annotations

import numpy as np

from simt.isa.op import Form, Op, Shape
from simt.isa.rounding import (
    canonical,
    emit_canonical,
    emit_flush,
    emit_flush_result,
    emit_saturate,
    exact,
    flush,
    flush_result,
    mode_of,
    saturate,
)
from simt.isa.shapes import PRED, same

__all__ = ["ROWS", "chosen", "emit_finished", "emit_operate", "emit_prepared", "finished", "operate", "prepared"]

_SECTION = "Floating Point Instructions: "
_INSTRUCTIONS = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv", "fma": "fma", "sqrt": "sqrt"}


def prepared(form: Form, sources):
    """The sources as the operation sees them, flushed when the form says `.ftz`."""
    return tuple(map(flush, sources)) if form.has("ftz") else sources


def finished(form: Form, value: np.ndarray) -> np.ndarray:
    """A result after `.ftz`, `.sat` and, in f32 and f16, with the canonical NaN."""
    if form.has("ftz"):
        value = flush(value)
    if form.has("sat"):
        return saturate(value)
    return value if value.dtype == np.float64 else canonical(value)


def emit_prepared(e, form: Form, sources):
    """`prepared` in IR."""
    return tuple(emit_flush(e, source) for source in sources) if form.has("ftz") else sources


def emit_finished(e, form: Form, value):
    """`finished` in IR."""
    if form.has("ftz"):
        value = emit_flush(e, value)
    if form.has("sat"):
        return emit_saturate(e, value)
    return value if e.width(value) == 64 else emit_canonical(e, value)


def operate(form: Form, operation: str, *sources: np.ndarray) -> np.ndarray:
    """An operation of `exact` on f32 or f64, with the form's rounding mode, `.ftz` and `.sat`."""
    sources = prepared(form, sources)
    value = exact(operation, mode_of(form.mods), *sources)
    return finished(form, flush_result(operation, mode_of(form.mods), value, sources) if form.has("ftz") else value)


def emit_operate(e, form: Form, operation: str, *sources):
    """`operate` in IR."""
    mode, instruction = mode_of(form.mods), _INSTRUCTIONS[operation]

    def compute(*values):
        if mode != "rn":
            return e.rounded(instruction, mode, *values)
        return (
            e.intrinsic(f"llvm.{instruction}", *values)
            if operation in ("fma", "sqrt")
            else getattr(e, instruction)(*values)
        )

    if not form.has("ftz"):
        return emit_finished(e, form, compute(*sources))
    value = emit_flush_result(e, operation, compute, emit_prepared(e, form, sources))
    return emit_saturate(e, value) if form.has("sat") else emit_canonical(e, value)


def _arithmetic(name: str, forms: tuple[str, ...], n_sources: int, operation: str, **fields) -> Op:
    """A row whose result is one correctly rounded operation."""
    return Op(
        name,
        forms,
        shape=same(n_sources),
        eval=lambda form, *sources: operate(form, operation, *sources),
        emit=lambda e, form, *sources: emit_operate(e, form, operation, *sources),
        section=_SECTION + name,
        **fields,
    )


def _rcp(form, a):
    return operate(form, "div", np.ones_like(a), a)


def _emit_rcp(e, form, a):
    return emit_operate(e, form, "div", e.const(a, 1.0), a)


def _div_approx(form, a, b):
    a, b = prepared(form, (a, b))
    huge = np.abs(b) > np.float32(2.0**126)
    quotient = exact("div", "rn", a, b)
    vanished = np.where(~np.isfinite(a), np.float32(np.nan), np.copysign(np.float32(0), quotient))
    return finished(form, np.where(huge & np.isfinite(b), vanished, quotient).astype(np.float32))


def _emit_div_approx(e, form, a, b):
    a, b = emit_prepared(e, form, (a, b))
    size = e.intrinsic("llvm.fabs", b)
    huge = e.and_(e.fcmp(">", size, 2.0**126), e.fcmp("<", size, float("inf")))
    quotient = e.fdiv(a, b)
    infinite = e.fcmp("==", e.intrinsic("llvm.fabs", a), float("inf"), unordered=True)
    zero = e.intrinsic("llvm.copysign", e.const(a, 0.0), quotient)
    vanished = e.select(infinite, float("nan"), zero)
    return emit_finished(e, form, e.select(huge, vanished, quotient))


def _abs(form, a):
    return np.abs(prepared(form, (a,))[0])


def _emit_abs(e, form, a):
    return e.intrinsic("llvm.fabs", *emit_prepared(e, form, (a,)))


def _neg(form, a):
    return -prepared(form, (a,))[0]


def _emit_neg(e, form, a):
    return e.fneg(*emit_prepared(e, form, (a,)))


def chosen(name: str, form: Form, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The smaller or larger of two, -0 below +0; a NaN loses, or wins with `.NaN`."""
    a_first = (a < b) | ((a == b) & np.signbit(a) & ~np.signbit(b))
    picked = np.where(a_first == (name == "min"), a, b)
    picked = np.where(np.isnan(b), b if form.has("NaN") else a, picked)
    return np.where(np.isnan(a), a if form.has("NaN") else b, picked).astype(a.dtype)


def _extreme(name: str):
    """(eval, emit) of `min` or `max` over two or three sources."""

    def evaluate(form, *sources):
        sources = prepared(form, sources)
        sign = np.signbit(sources[0]) ^ np.signbit(sources[-1])
        if form.has("abs"):
            sources = tuple(map(np.abs, sources))
        value = sources[0]
        for source in sources[1:]:
            value = chosen(name, form, value, source)
        if form.has("xorsign"):
            value = np.where(np.isnan(value), value, np.where(sign, -value, value))
        return finished(form, value) if value.dtype == np.float32 else canonical(value)

    def emit(e, form, *sources):
        sources = emit_prepared(e, form, sources)
        signs = [e.bits(source) for source in sources]
        if form.has("abs"):
            sources = tuple(e.intrinsic("llvm.fabs", source) for source in sources)
        value = sources[0]
        for source in sources[1:]:
            value = e.intrinsic(f"llvm.{name}imum{'' if form.has('NaN') else 'num'}", value, source)
        if form.has("xorsign"):
            value = e.select(e.icmp("<", e.xor(signs[0], signs[-1]), 0, signed=True), e.fneg(value), value)
        return emit_canonical(e, value)

    return {"eval": evaluate, "emit": emit}


def _copysign(form, a, b):
    return np.copysign(b, a)


def _emit_copysign(e, form, a, b):
    return e.intrinsic("llvm.copysign", b, a)


def _testp(form, a):
    size = np.abs(a)
    subnormal = (size > 0) & (size < np.finfo(a.dtype).smallest_normal)
    tests = {
        "finite": np.isfinite(a),
        "infinite": np.isinf(a),
        "number": ~np.isnan(a),
        "notanumber": np.isnan(a),
        "normal": np.isfinite(a) & ~subnormal,
        "subnormal": subnormal,
    }
    return tests[form.mods[0]]


def _emit_testp(e, form, a):
    size, least = e.intrinsic("llvm.fabs", a), float(np.finfo(form.type.dtype).smallest_normal)
    infinity = float("inf")
    tests = {
        "finite": lambda: e.fcmp("<", size, infinity),
        "infinite": lambda: e.fcmp("==", size, infinity),
        "number": lambda: e.fcmp("ord", a, a),
        "notanumber": lambda: e.is_nan(a),
        "normal": lambda: e.or_(
            e.and_(e.fcmp(">=", size, least), e.fcmp("<", size, infinity)), e.fcmp("==", size, 0.0)
        ),
        "subnormal": lambda: e.and_(e.fcmp("<", size, least), e.fcmp(">", size, 0.0)),
    }
    return tests[form.mods[0]]()


def _bound(ulp: float):
    return lambda form: ulp


_RN = "{.rn,.rz,.rm,.rp}"
_RND = "{rn,rz,rm,rp}"
_TESTS = "{finite,infinite,number,notanumber,normal,subnormal}"

ROWS = (
    *(
        _arithmetic(name, (f"{name}{_RN}{{.ftz}}{{.sat}}.f32", f"{name}{_RN}.f64"), 2, name)
        for name in ("add", "sub", "mul")
    ),
    _arithmetic("fma", (f"fma.{_RND}{{.ftz}}{{.sat}}.f32", f"fma.{_RND}.f64"), 3, "fma", since=("2.0", 20)),
    _arithmetic("mad", (f"mad.{_RND}{{.ftz}}{{.sat}}.f32", f"mad.{_RND}.f64"), 3, "fma", since=("2.0", 20)),
    _arithmetic("div", (f"div.{_RND}{{.ftz}}.f32", f"div.{_RND}.f64"), 2, "div"),
    _arithmetic("div", ("div.full{.ftz}.f32",), 2, "div", ulp=_bound(2)),
    Op("div", ("div.approx{.ftz}.f32",), shape=same(2), eval=_div_approx, emit=_emit_div_approx, ulp=_bound(2),
       section=_SECTION + "div"),
    Op("rcp", (f"rcp.{_RND}{{.ftz}}.f32", f"rcp.{_RND}.f64"), shape=same(1), eval=_rcp, emit=_emit_rcp,
       section=_SECTION + "rcp"),
    Op("rcp", ("rcp.approx{.ftz}.f32",), shape=same(1), eval=_rcp, emit=_emit_rcp, ulp=_bound(1),
       section=_SECTION + "rcp"),
    _arithmetic("sqrt", (f"sqrt.{_RND}{{.ftz}}.f32", f"sqrt.{_RND}.f64"), 1, "sqrt"),
    _arithmetic("sqrt", ("sqrt.approx{.ftz}.f32",), 1, "sqrt", ulp=_bound(1)),
    Op("abs", ("abs{.ftz}.f32", "abs.f64"), shape=same(1), eval=_abs, emit=_emit_abs, section=_SECTION + "abs"),
    Op("neg", ("neg{.ftz}.f32", "neg.f64"), shape=same(1), eval=_neg, emit=_emit_neg, section=_SECTION + "neg"),
    *(
        Op(name, (f"{name}{{.ftz}}.f32", f"{name}.f64"), shape=same(2), **_extreme(name), section=_SECTION + name)
        for name in ("min", "max")
    ),
    *(
        Op(name, (f"{name}{{.ftz}}.NaN.f32", f"{name}{{.ftz}}{{.NaN}}.xorsign.abs.f32"), shape=same(2),
           **_extreme(name), since=("7.0", 80), section=_SECTION + name)
        for name in ("min", "max")
    ),
    *(
        Op(name, (f"{name}{{.ftz}}{{.NaN}}{{.abs}}.f32.three",), shape=same(3), **_extreme(name), since=("8.8", 100),
           section=_SECTION + name)
        for name in ("min", "max")
    ),
    Op("copysign", ("copysign.{f32,f64}",), shape=same(2), eval=_copysign, emit=_emit_copysign, since=("2.0", 20),
       section=_SECTION + "copysign"),
    Op("testp", (f"testp.{_TESTS}.{{f32,f64}}",), shape=lambda form: Shape((PRED,), (form.type,)), eval=_testp,
       emit=_emit_testp, since=("2.0", 20), section=_SECTION + "testp"),
)  # fmt: skip
