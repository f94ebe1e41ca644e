"""Extended-precision integer arithmetic: add.cc addc sub.cc subc mad.cc madc.

The condition code's carry flag is a predicate of its own: the last source where it is read, the last result where it is
written. Of a subtraction it holds the borrow.
"""

from __future__ import annotations

from simt.isa.op import Form, Op, Shape
from simt.isa.shapes import PRED

__all__ = ["ROWS"]

_SECTION = "Extended-Precision Integer Arithmetic Instructions: "


def _reads(form: Form) -> bool:
    return form.op.name.endswith("c")


def _shape(form: Form) -> Shape:
    n_sources = 3 if form.op.name.startswith("mad") else 2
    reads, writes = _reads(form), form.has("cc")
    return Shape((form.type,) + (PRED,) * writes, (form.type,) * n_sources + (PRED,) * reads, reads, writes)


def _exact(form: Form, sources):
    """The result before it is cut to the width, as Python integers; negative where a subtraction borrows."""
    unsigned = [
        s.view(f"uint{form.type.bits}").astype(object) for s in sources[: len(_shape(form).sources) - _reads(form)]
    ]
    carry = sources[-1].astype(int).astype(object) if _reads(form) else 0
    if form.op.name.startswith("sub"):
        return unsigned[0] - unsigned[1] - carry
    if form.op.name.startswith("add"):
        return unsigned[0] + unsigned[1] + carry
    mask = (1 << form.type.bits) - 1
    a, b = (s.astype(object) for s in sources[:2]) if form.type.is_signed else unsigned[:2]
    part = a * b >> form.type.bits if form.has("hi") else a * b
    return (part & mask) + unsigned[2] + carry


def _eval(form, *sources):
    value = _exact(form, sources)
    mask = (1 << form.type.bits) - 1
    result = (value & mask).astype(f"uint{form.type.bits}").view(form.type.dtype)
    return (result, (value < 0) | (value > mask)) if form.has("cc") else result


def _emit(e, form, a, b, *rest):
    bits, name = form.type.bits, form.op.name
    carry = [e.zext(rest[-1], bits)] if _reads(form) else []
    if name.startswith("mad"):
        a, b = _emit_part(e, form, a, b), rest[0]
    step, overflowed = (e.sub, "<") if name.startswith("sub") else (e.add, ">")
    value, flag = a, None
    for term in (b, *carry):
        # A sum is smaller than what it started from when it carried; a difference is larger when it borrowed.
        following = step(value, term)
        wrapped = e.icmp(overflowed, value, following)
        value, flag = following, wrapped if flag is None else e.or_(flag, wrapped)
    return (value, flag) if form.has("cc") else value


def _emit_part(e, form, a, b):
    """The high or low half of the product."""
    if form.has("lo"):
        return e.mul(a, b)
    bits = form.type.bits
    product = e.mul(*(e.resize(x, 2 * bits, form.type.is_signed) for x in (a, b)))
    return e.trunc(e.lshr(product, bits), bits)


_TYPES = "{u32,s32,u64,s64}"
_FORMS = (
    ("add", f"add.cc.{_TYPES}", ("1.2", 0)), ("addc", f"addc{{.cc}}.{_TYPES}", ("1.2", 0)),
    ("sub", f"sub.cc.{_TYPES}", ("1.2", 0)), ("subc", f"subc{{.cc}}.{_TYPES}", ("1.2", 0)),
    ("mad", f"mad.{{hi,lo}}.cc.{_TYPES}", ("3.0", 20)), ("madc", f"madc.{{hi,lo}}{{.cc}}.{_TYPES}", ("3.0", 20)),
)  # fmt: skip

ROWS = tuple(
    Op(name, (forms,), shape=_shape, eval=_eval, emit=_emit, since=since, section=_SECTION + name)
    for name, forms, since in _FORMS
)
