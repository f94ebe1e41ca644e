"""Typed values of the native subset and the arithmetic between them."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from llvmlite import ir

from simt.engine.records import Float, Int, PtrType, b1, i32, i64

__all__ = ["Literal", "NativeError", "Value", "arithmetic", "coerce", "compare", "convert", "unify"]


class NativeError(TypeError):
    """A function outside the native subset; says where and why."""


@dataclass(frozen=True, slots=True)
class Value:
    llvm: ir.Value
    kind: object


@dataclass(frozen=True, slots=True)
class Literal:
    """A Python number that takes the type of what it meets."""

    number: int | float


def coerce(b: ir.IRBuilder, value: Value | Literal, kind) -> Value:
    """The value as `kind` without losing anything: literals, equal types and widening of equal signedness."""
    if isinstance(value, Literal):
        return _constant(value, kind)
    if value.kind == kind or (isinstance(kind, PtrType) and isinstance(value.kind, PtrType)):
        return Value(value.llvm, kind)
    if value.kind == b1 and isinstance(kind, Int):
        return Value(b.zext(value.llvm, kind.llvm), kind)
    if isinstance(value.kind, Int) and isinstance(kind, Int) and value.kind.bits < kind.bits:
        if value.kind.signed == kind.signed or not value.kind.signed:
            return convert(b, value, kind)
    raise NativeError(f"{value.kind} where {kind} is wanted")


def _constant(value: Literal, kind) -> Value:
    if isinstance(kind, PtrType):
        if value.number != 0:
            raise NativeError("only 0 may become a pointer")
        return Value(ir.Constant(ir.PointerType(), None), kind)
    if isinstance(kind, Float):
        return Value(ir.Constant(kind.llvm, float(value.number)), kind)
    return Value(ir.Constant(kind.llvm, int(value.number) & ((1 << kind.bits) - 1)), kind)


def convert(b: ir.IRBuilder, value: Value | Literal, kind) -> Value:
    """An explicit cast, `u32(x)`: truncates, extends by the source's signedness, converts floats."""
    if isinstance(value, Literal):
        return _constant(value, kind)
    source = value.kind
    if source == kind:
        return value
    if isinstance(source, PtrType):
        return Value(b.ptrtoint(value.llvm, kind.llvm), kind)
    if isinstance(source, Int) and isinstance(kind, Int):
        if source.bits > kind.bits:
            return Value(b.trunc(value.llvm, kind.llvm), kind)
        if source.bits == kind.bits:
            return Value(value.llvm, kind)
        return Value((b.sext if source.signed else b.zext)(value.llvm, kind.llvm), kind)
    if isinstance(source, Int):
        return Value((b.sitofp if source.signed else b.uitofp)(value.llvm, kind.llvm), kind)
    if isinstance(kind, Int):
        return Value((b.fptosi if kind.signed else b.fptoui)(value.llvm, kind.llvm), kind)
    return Value((b.fpext if kind.bits > source.bits else b.fptrunc)(value.llvm, kind.llvm), kind)


def unify(b: ir.IRBuilder, left: Value | Literal, right: Value | Literal) -> tuple[Value, Value]:
    """Both operands in one type: the other's for a literal, the wider of equal signedness."""
    if isinstance(left, Literal) and isinstance(right, Literal):
        return coerce(b, left, i64), coerce(b, right, i64)
    if isinstance(left, Literal):
        return coerce(b, left, _integer(right)), right
    if isinstance(right, Literal):
        return left, coerce(b, right, _integer(left))
    if left.kind == right.kind or isinstance(left.kind, PtrType):
        return left, right
    if left.kind == b1:
        return coerce(b, left, right.kind), right
    if right.kind == b1:
        return left, coerce(b, right, left.kind)
    if isinstance(left.kind, Int) and isinstance(right.kind, Int) and left.kind.bits < right.kind.bits:
        return coerce(b, left, right.kind), right
    return left, coerce(b, right, left.kind)


def _integer(value: Value):
    return i32 if value.kind == b1 else value.kind


_INTEGER = {
    ast.Add: ("add", "add"), ast.Sub: ("sub", "sub"), ast.Mult: ("mul", "mul"), ast.FloorDiv: ("sdiv", "udiv"),
    ast.Div: ("sdiv", "udiv"), ast.Mod: ("srem", "urem"), ast.BitAnd: ("and_", "and_"), ast.BitOr: ("or_", "or_"),
    ast.BitXor: ("xor", "xor"), ast.LShift: ("shl", "shl"), ast.RShift: ("ashr", "lshr"),
}  # fmt: skip
_FLOAT = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}
_FOLD = {
    ast.Add: lambda a, b: a + b, ast.Sub: lambda a, b: a - b, ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b, ast.Mod: lambda a, b: a % b, ast.LShift: lambda a, b: a << b,
    ast.RShift: lambda a, b: a >> b, ast.BitOr: lambda a, b: a | b, ast.BitAnd: lambda a, b: a & b,
}  # fmt: skip


def arithmetic(b: ir.IRBuilder, op: ast.operator, left: Value | Literal, right: Value | Literal) -> Value | Literal:
    """`left op right`; integers wrap, division truncates."""
    if isinstance(left, Literal) and isinstance(right, Literal):
        return Literal(_FOLD[type(op)](left.number, right.number))
    if isinstance(op, (ast.LShift, ast.RShift)) and isinstance(left, Value) and isinstance(right, Value):
        right = convert(b, right, left.kind)
    left, right = unify(b, left, right)
    if isinstance(left.kind, Float):
        return Value(getattr(b, _FLOAT[type(op)])(left.llvm, right.llvm), left.kind)
    if left.kind == b1:
        left, right = coerce(b, left, i32), coerce(b, right, i32)
    signed, unsigned = _INTEGER[type(op)]
    return Value(getattr(b, signed if left.kind.signed else unsigned)(left.llvm, right.llvm), left.kind)


_SYMBOL = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}


def compare(b: ir.IRBuilder, op: ast.cmpop, left: Value | Literal, right: Value | Literal) -> Value:
    """`left op right` as a one-bit value, by the operands' signedness."""
    left, right = unify(b, left, right)
    symbol = _SYMBOL[type(op)]
    if isinstance(left.kind, Float):
        return Value(b.fcmp_ordered(symbol, left.llvm, right.llvm), b1)
    if isinstance(left.kind, Int) and left.kind.signed:
        return Value(b.icmp_signed(symbol, left.llvm, right.llvm), b1)
    return Value(b.icmp_unsigned(symbol, left.llvm, right.llvm), b1)
