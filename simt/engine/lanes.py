"""Builtins that handle 32 lanes in one go, as vectors, where a loop over lanes would cost too much."""

from __future__ import annotations

from llvmlite import ir

from simt.engine.records import b1, u32, u64
from simt.engine.values import Value, convert

__all__ = ["LANE_BUILTINS"]

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


LANE_BUILTINS = {"lanes_match": _lanes_match, "active_match": _active_match}
