"""Builtins of the native subset: bit counting, extremes, memory blocks and atomics."""

from __future__ import annotations

import ast

from llvmlite import ir

from simt.engine.lanes import LANE_BUILTINS
from simt.engine.records import Float, Int, b1
from simt.engine.values import NativeError, Value, coerce, compare, convert, unify

__all__ = ["BUILTINS"]


def _intrinsic(b: ir.IRBuilder, name: str, result: ir.Type, *values: ir.Value) -> ir.Value:
    kind = ir.FunctionType(result, [value.type for value in values])
    function = b.module.globals.get(name) or ir.Function(b.module, kind, name)
    return b.call(function, values)


def _bits(name: str):
    def build(b: ir.IRBuilder, value: Value) -> Value:
        flag = [ir.Constant(ir.IntType(1), 0)] if name in ("ctlz", "cttz") else []
        return Value(_intrinsic(b, f"llvm.{name}.i{value.kind.bits}", value.llvm.type, value.llvm, *flag), value.kind)

    return build


def _extreme(op: ast.cmpop):
    def build(b: ir.IRBuilder, left, right) -> Value:
        left, right = unify(b, left, right)
        return Value(b.select(compare(b, op, left, right).llvm, left.llvm, right.llvm), left.kind)

    return build


def _byte_count(b: ir.IRBuilder, count) -> ir.Value:
    return (
        coerce(b, count, Int(64, True)).llvm if not isinstance(count, Value) else convert(b, count, Int(64, True)).llvm
    )


def _memcpy(b: ir.IRBuilder, target: Value, source: Value, count) -> None:
    flag = ir.Constant(ir.IntType(1), 0)
    _intrinsic(b, "llvm.memcpy.p0.p0.i64", ir.VoidType(), target.llvm, source.llvm, _byte_count(b, count), flag)


def _memset(b: ir.IRBuilder, target: Value, byte, count) -> None:
    value = coerce(b, byte, Int(8, False)).llvm
    flag = ir.Constant(ir.IntType(1), 0)
    _intrinsic(b, "llvm.memset.p0.i64", ir.VoidType(), target.llvm, value, _byte_count(b, count), flag)


def _atomic(op: str):
    def build(b: ir.IRBuilder, place: Value, value) -> Value:
        kind = place.kind.element
        return Value(b.atomic_rmw(op, place.llvm, coerce(b, value, kind).llvm, "seq_cst"), kind)

    return build


def _cas(b: ir.IRBuilder, place: Value, expected, value) -> Value:
    """The old value; stored only when it equalled `expected`."""
    kind = place.kind.element
    pair = b.cmpxchg(place.llvm, coerce(b, expected, kind).llvm, coerce(b, value, kind).llvm, "seq_cst", "seq_cst")
    return Value(b.extract_value(pair, 0), kind)


def _bitcast(to):
    def build(b: ir.IRBuilder, value: Value) -> Value:
        if value.kind.bits != to.bits:
            raise NativeError("bit casts keep the width")
        return Value(b.bitcast(value.llvm, to.llvm), to)

    return build


def _f16_add(b: ir.IRBuilder, left: Value, right: Value) -> Value:
    """The sum of two halves given and returned as their bits."""
    half = ir.HalfType()
    total = b.fadd(b.bitcast(left.llvm, half), b.bitcast(right.llvm, half))
    return Value(b.bitcast(total, ir.IntType(16)), left.kind)


def _f32_of_f16(b: ir.IRBuilder, bits: Value) -> Value:
    return Value(b.fpext(b.bitcast(bits.llvm, ir.HalfType()), ir.FloatType()), Float(32))


def _f16_of_f32(b: ir.IRBuilder, value: Value) -> Value:
    return Value(b.bitcast(b.fptrunc(value.llvm, ir.HalfType()), ir.IntType(16)), Int(16, False))


def _fused(b: ir.IRBuilder, left: Value, right: Value, addend: Value) -> Value:
    """left * right + addend of doubles, rounded once."""
    return Value(_intrinsic(b, "llvm.fma.f64", left.llvm.type, left.llvm, right.llvm, addend.llvm), left.kind)


def _truncated(b: ir.IRBuilder, value: Value) -> Value:
    """The whole number towards zero."""
    return Value(_intrinsic(b, "llvm.trunc.f64", value.llvm.type, value.llvm), value.kind)


def _select(b: ir.IRBuilder, condition: Value, left, right) -> Value:
    left, right = unify(b, left, right)
    return Value(b.select(condition.llvm, left.llvm, right.llvm), left.kind)


def _null(b: ir.IRBuilder, pointer: Value) -> Value:
    return Value(b.icmp_unsigned("==", pointer.llvm, ir.Constant(ir.PointerType(), None)), b1)


def _mul_high(b: ir.IRBuilder, left: Value, right: Value) -> Value:
    wide = ir.IntType(128)
    product = b.mul(b.zext(left.llvm, wide), b.zext(right.llvm, wide))
    return Value(b.trunc(b.lshr(product, ir.Constant(wide, 64)), left.llvm.type), left.kind)


BUILTINS = {
    "popcount": _bits("ctpop"),
    "leading_zeros": _bits("ctlz"),
    "trailing_zeros": _bits("cttz"),
    "min": _extreme(ast.Lt()),
    "max": _extreme(ast.Gt()),
    "memcpy": _memcpy,
    "memset": _memset,
    "atomic_add": _atomic("add"),
    "atomic_or": _atomic("or"),
    "atomic_and": _atomic("and"),
    "atomic_max": _atomic("umax"),
    "atomic_min": _atomic("umin"),
    "atomic_cas": _cas,
    "bits_of_f32": _bitcast(Int(32, False)),
    "f32_of_bits": _bitcast(Float(32)),
    "bits_of_f64": _bitcast(Int(64, False)),
    "f64_of_bits": _bitcast(Float(64)),
    "f16_add": _f16_add,
    "f32_of_f16": _f32_of_f16,
    "f16_of_f32": _f16_of_f32,
    "fused": _fused,
    "truncated": _truncated,
    "select": _select,
    "is_null": _null,
    "mul_high": _mul_high,
    **LANE_BUILTINS,
}
