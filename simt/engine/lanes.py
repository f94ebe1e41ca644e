"""Builtins that handle 32 lanes, or 8 words of a shadow, in one go, where a loop would cost too much.

`u32x8` values take the operators `& | ^ + << >> ~` with one another. A comparison gives all ones or zeros in each place.
"""

from __future__ import annotations

from llvmlite import ir

from simt.engine.records import Int, b1, u32, u64
from simt.engine.values import Value, convert

__all__ = ["LANE_BUILTINS", "u32x8"]

_LANES = 32
_I1, _I32, _I64 = ir.IntType(1), ir.IntType(32), ir.IntType(64)
_WIDE = ir.VectorType(_I64, _LANES)
_FLAGS = ir.VectorType(_I1, _LANES)


def _splat(b: ir.IRBuilder, value: ir.Value) -> ir.Value:
    shape = ir.VectorType(value.type, _LANES)
    single = b.insert_element(ir.Constant(shape, ir.Undefined), value, ir.Constant(_I32, 0))
    zeros = ir.Constant(ir.VectorType(_I32, _LANES), [0] * _LANES)
    return b.shuffle_vector(single, ir.Constant(shape, ir.Undefined), zeros)


def _reduce_or(b: ir.IRBuilder, vector: ir.Value) -> ir.Value:
    kind = ir.FunctionType(_I64, [_WIDE])
    name = "llvm.vector.reduce.or.v32i64"
    function = b.module.globals.get(name) or ir.Function(b.module, kind, name)
    return b.call(function, [vector])


def _difference(b: ir.IRBuilder, addresses: Value, base, pattern: Value) -> ir.Value:
    """Per lane zero where its address lies at `base` plus its place in the pattern."""
    here = b.load(addresses.llvm, typ=_WIDE, align=8)
    known = b.load(pattern.llvm, typ=_WIDE, align=8)
    return b.xor(b.sub(here, _splat(b, convert(b, base, u64).llvm)), known)


def _lanes_match(b: ir.IRBuilder, addresses: Value, base, pattern: Value) -> Value:
    """`lanes_match(addresses, base, pattern)`: every lane's address is `base` plus its entry of the pattern."""
    reduced = _reduce_or(b, _difference(b, addresses, base, pattern))
    return Value(b.icmp_unsigned("==", reduced, ir.Constant(_I64, 0)), b1)


def _active_match(b: ir.IRBuilder, addresses: Value, base, pattern: Value, mask) -> Value:
    """As `lanes_match`, over the lanes in `mask`."""
    wanted = b.sext(b.bitcast(convert(b, mask, u32).llvm, _FLAGS), _WIDE)
    reduced = _reduce_or(b, b.and_(_difference(b, addresses, base, pattern), wanted))
    return Value(b.icmp_unsigned("==", reduced, ir.Constant(_I64, 0)), b1)


class Eight(Int):
    """Eight integers side by side."""

    @property
    def llvm(self) -> ir.Type:
        return ir.VectorType(ir.IntType(self.bits), 8)


u32x8 = Eight(32, False)


def _constant8(values) -> ir.Constant:
    return ir.Constant(u32x8.llvm, list(values))


def _load8(b: ir.IRBuilder, place: Value) -> Value:
    """`load8(pointer)`: eight words, at any word address."""
    return Value(b.load(place.llvm, typ=u32x8.llvm, align=4), u32x8)


def _store8(b: ir.IRBuilder, place: Value, value: Value) -> None:
    b.store(value.llvm, place.llvm, align=4)


def _splat8(b: ir.IRBuilder, value) -> Value:
    """`splat8(word)`: the word in all places."""
    single = b.insert_element(_constant8([0] * 8), convert(b, value, u32).llvm, ir.Constant(_I32, 0))
    return Value(b.shuffle_vector(single, _constant8([0] * 8), _constant8([0] * 8)), u32x8)


def _counting8(b: ir.IRBuilder) -> Value:
    """`counting8()`: 0 to 7."""
    return Value(_constant8(range(8)), u32x8)


def _compared8(relation: str):
    def build(b: ir.IRBuilder, left: Value, right: Value) -> Value:
        return Value(b.sext(b.icmp_unsigned(relation, left.llvm, right.llvm), u32x8.llvm), u32x8)

    return build


def _select8(b: ir.IRBuilder, condition: Value, left: Value, right: Value) -> Value:
    """`select8(condition, a, b)` place by place; the condition comes from a comparison."""
    chosen = b.icmp_unsigned("!=", condition.llvm, _constant8([0] * 8))
    return Value(b.select(chosen, left.llvm, right.llvm), u32x8)


def _any8(b: ir.IRBuilder, value: Value) -> Value:
    """`any8(value)`: a place is not zero."""
    kind = ir.FunctionType(_I32, [u32x8.llvm])
    name = "llvm.vector.reduce.or.v8i32"
    function = b.module.globals.get(name) or ir.Function(b.module, kind, name)
    return Value(b.icmp_unsigned("!=", b.call(function, [value.llvm]), ir.Constant(_I32, 0)), b1)


LANE_BUILTINS = {
    "lanes_match": _lanes_match,
    "active_match": _active_match,
    "load8": _load8,
    "store8": _store8,
    "splat8": _splat8,
    "counting8": _counting8,
    "equal8": _compared8("=="),
    "less8": _compared8("<"),
    "select8": _select8,
    "any8": _any8,
}
