"""What a row of the table writes LLVM IR with: llvmlite's builder, for one lane or for all lanes of a warp alike.

Every method takes values that are either all scalars or all `<n x T>` vectors, and a plain Python number wherever a
constant operand is meant. Nothing here knows PTX; types of operands are decided by `simt.isa` and by the lowering.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from llvmlite import ir

from simt.ptx.types import Kind, PtxType

__all__ = ["F16", "F32", "F64", "I1", "I8", "I16", "I32", "I64", "I128", "Emitter", "Splat", "element", "llvm_type"]

I1, I8, I16, I32, I64, I128 = (ir.IntType(bits) for bits in (1, 8, 16, 32, 64, 128))
F16, F32, F64 = ir.HalfType(), ir.FloatType(), ir.DoubleType()

_INTEGERS = {bits: ir.IntType(bits) for bits in (1, 2, 4, 8, 16, 32, 64, 128)}
_FLOATS = {16: F16, 32: F32, 64: F64}
_WIDTH = {F16: 16, F32: 32, F64: 64}
_MODES = {"rz": 0, "rn": 1, "rp": 2, "rm": 3}  # of llvm.set.rounding


class Splat(ir.Constant):
    """A vector constant with the same element in every lane, written `splat (i32 5)`: short to print and to parse."""

    def __init__(self, type_: ir.VectorType, lane: ir.Constant):
        self.type = type_
        self.constant = f"splat ({lane.type} {lane.get_reference()})"
        self.lane = lane

    def _get_reference(self) -> str:
        return self.constant


def element(type_: ir.Type) -> ir.Type:
    """The type of one lane."""
    return type_.element if isinstance(type_, ir.VectorType) else type_


def llvm_type(type_: PtxType) -> ir.Type:
    """The LLVM type that holds one value of a PTX type; bf16 and packed types are held as their bits."""
    return _FLOATS[type_.bits] if type_.kind is Kind.FLOAT else ir.IntType(type_.bits)


def _reshaped(shape: ir.Type, lane: ir.Type) -> ir.Type:
    return ir.VectorType(lane, shape.count) if isinstance(shape, ir.VectorType) else lane


def _suffix(type_: ir.Type) -> str:
    """How an overloaded intrinsic's name spells a type: `v32f32`, `i64`."""
    lane = element(type_)
    name = f"f{_WIDTH[lane]}" if lane in _WIDTH else f"i{lane.width}"
    return f"v{type_.count}{name}" if isinstance(type_, ir.VectorType) else name


def _binary(name: str) -> Callable:
    def method(self, a, b):
        return getattr(self.builder, name)(a, self.operand(a, b))

    method.__doc__ = f"`{name.rstrip('_')}` of two values; `b` may be a Python number."
    return method


def _cast(name: str, types: dict[int, ir.Type]) -> Callable:
    def method(self, a, bits):
        return getattr(self.builder, name)(a, _reshaped(a.type, types[bits]))

    method.__doc__ = f"`{name}` of each lane to a width in bits."
    return method


class Emitter:
    """Builds lane-wise IR at the builder's position."""

    def __init__(self, builder: ir.IRBuilder):
        self.builder = builder

    add, sub, mul = _binary("add"), _binary("sub"), _binary("mul")
    sdiv, udiv, srem, urem = _binary("sdiv"), _binary("udiv"), _binary("srem"), _binary("urem")
    and_, or_, xor = _binary("and_"), _binary("or_"), _binary("xor")
    shl, lshr, ashr = _binary("shl"), _binary("lshr"), _binary("ashr")
    fadd, fsub, fmul, fdiv = _binary("fadd"), _binary("fsub"), _binary("fmul"), _binary("fdiv")
    zext, sext, trunc = _cast("zext", _INTEGERS), _cast("sext", _INTEGERS), _cast("trunc", _INTEGERS)
    fpext, fptrunc = _cast("fpext", _FLOATS), _cast("fptrunc", _FLOATS)
    fptosi, fptoui = _cast("fptosi", _INTEGERS), _cast("fptoui", _INTEGERS)
    sitofp, uitofp, as_float = _cast("sitofp", _FLOATS), _cast("uitofp", _FLOATS), _cast("bitcast", _FLOATS)

    # Constants

    def const(self, like: ir.Value, value: int | float, bits: int = 0) -> ir.Constant:
        """`value` in every lane, shaped as `like`, of its type or else an integer of a width in bits."""
        lane = _INTEGERS[bits] if bits else element(like.type)
        if isinstance(lane, ir.IntType):
            constant = ir.Constant(lane, bool(value) if lane.width == 1 else int(value) & (1 << lane.width) - 1)
        else:
            constant = ir.Constant(lane, float(value))
        return Splat(ir.VectorType(lane, like.type.count), constant) if self.is_vector(like) else constant

    def operand(self, like: ir.Value, value: ir.Value | int | float) -> ir.Value:
        """`value` itself, or the constant it means beside `like`."""
        return value if isinstance(value, ir.Value) else self.const(like, value)

    def literal(self, value: ir.Value) -> int | None:
        """The integer that `value` is known to be in every lane, else None."""
        constant = value.lane if isinstance(value, Splat) else value
        if isinstance(constant, ir.Constant) and isinstance(constant.type, ir.IntType):
            return int(constant.constant or 0)
        return None

    def is_vector(self, value: ir.Value) -> bool:
        return isinstance(value.type, ir.VectorType)

    def is_int(self, value: ir.Value) -> bool:
        return isinstance(element(value.type), ir.IntType)

    def width(self, value: ir.Value) -> int:
        """Bits in one lane of `value`."""
        lane = element(value.type)
        return _WIDTH[lane] if lane in _WIDTH else lane.width

    # Selection and comparison

    def select(self, condition: ir.Value, a: ir.Value | int | float, b: ir.Value | int | float) -> ir.Value:
        """`a` where the condition holds, else `b`; at most one of them may be a Python number."""
        if not isinstance(a, ir.Value):
            a = self.const(b, a)
        return self.builder.select(condition, a, self.operand(a, b))

    def icmp(self, relation: str, a: ir.Value, b: ir.Value | int, signed: bool = False) -> ir.Value:
        """Integer comparison; `relation` is one of `==`, `!=`, `<`, `<=`, `>`, `>=`."""
        compare = self.builder.icmp_signed if signed else self.builder.icmp_unsigned
        return compare(relation, a, self.operand(a, b))

    def fcmp(self, relation: str, a: ir.Value, b: ir.Value | float, unordered: bool = False) -> ir.Value:
        """Float comparison, false on NaN, or true on NaN when `unordered`; `ord` and `uno` test for NaN themselves."""
        compare = self.builder.fcmp_unordered if unordered else self.builder.fcmp_ordered
        return compare(relation, a, self.operand(a, b))

    def is_nan(self, a: ir.Value) -> ir.Value:
        return self.fcmp("uno", a, a)

    def not_(self, a: ir.Value) -> ir.Value:
        return self.xor(a, -1)

    def neg(self, a: ir.Value) -> ir.Value:
        return self.builder.sub(self.const(a, 0), a)

    def fneg(self, a: ir.Value) -> ir.Value:
        return self.builder.fneg(a)

    # Reinterpretation

    def bits(self, a: ir.Value) -> ir.Value:
        """The bits of a float as an integer of its width."""
        return self.builder.bitcast(a, _reshaped(a.type, _INTEGERS[self.width(a)]))

    def of_bits(self, a: ir.Value) -> ir.Value:
        """The float that the integer `a` holds the bits of."""
        return self.as_float(a, self.width(a))

    def float_bits(self, like: ir.Value, pattern: int) -> ir.Value:
        """The float constant with these bits, shaped and typed as the float `like`."""
        lane = element(like.type)
        size = {F16: "e", F32: "f", F64: "d"}[lane]
        (value,) = struct.unpack(size, pattern.to_bytes(_WIDTH[lane] // 8, "little"))
        if value == value:
            return self.const(like, value)
        return self.of_bits(self.const(like, pattern, _WIDTH[lane]))

    def resize(self, a: ir.Value, bits: int, signed: bool = False) -> ir.Value:
        """`a` truncated, or extended by its sign when `signed`, to a width."""
        width = self.width(a)
        if bits == width:
            return a
        return self.trunc(a, bits) if bits < width else self.sext(a, bits) if signed else self.zext(a, bits)

    def halves(self, a: ir.Value) -> tuple[ir.Value, ir.Value]:
        """(low, high) half of an integer, each of half its width."""
        width = self.width(a) // 2
        return self.trunc(a, width), self.trunc(self.lshr(a, width), width)

    def joined(self, low: ir.Value, high: ir.Value) -> ir.Value:
        """The integer of twice the width whose halves are given."""
        width = self.width(low)
        return self.or_(self.zext(low, 2 * width), self.shl(self.zext(high, 2 * width), width))

    # Intrinsics and helper functions

    def declared(self, name: str, type_: ir.FunctionType) -> ir.Function:
        """The module's function `name`, declared at its first use."""
        known = self.builder.module.globals
        return known[name] if name in known else ir.Function(self.builder.module, type_, name)

    def intrinsic(self, name: str, *args: ir.Value, result: ir.Type | None = None) -> ir.Value:
        """Calls an intrinsic overloaded on its first argument, and first on `result` where that differs in type."""
        suffix = _suffix(args[0].type) if result is None else f"{_suffix(result)}.{_suffix(args[0].type)}"
        signature = ir.FunctionType(result or args[0].type, [arg.type for arg in args])
        return self.builder.call(self.declared(f"{name}.{suffix}", signature), args)

    def flagged(self, name: str, a: ir.Value, flag: bool = False) -> ir.Value:
        """An intrinsic with a trailing scalar i1: `ctlz`, `cttz` and `abs`, whose flag allows a poison result."""
        signature = ir.FunctionType(a.type, [a.type, I1])
        return self.builder.call(self.declared(f"{name}.{_suffix(a.type)}", signature), [a, ir.Constant(I1, flag)])

    def to_int(self, a: ir.Value, bits: int, signed: bool) -> ir.Value:
        """Float or double to integer towards zero, saturating; NaN gives 0.

        The selects replace what the plain conversion leaves undefined; `llvm.fptosi.sat` goes lane by lane on AVX2.
        """
        low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1)) if signed else (0, 2**bits)
        value = self.fptosi(a, bits) if signed else self.fptoui(a, bits)
        value = self.select(self.fcmp("<", a, float(high)), value, high - 1)
        value = self.select(self.fcmp("<", a, float(low)), low, value)
        return self.select(self.is_nan(a), 0, value)

    def rounded(self, operation: str, mode: str, *args: ir.Value, bits: int = 0) -> ir.Value:
        """`fadd`, `fsub`, `fmul`, `fdiv`, `fma`, `sqrt`, `fptrunc`, `sitofp` or `uitofp` rounded rz, rm or rp.

        A function of its own sets the host's rounding mode around the one operation, so that no other instruction is
        moved under it. `result` is the type of one lane where it differs from the argument's.
        """
        wanted = _reshaped(args[0].type, _FLOATS[bits]) if bits else args[0].type
        name = f"simt.{operation}.{mode}.{_suffix(wanted)}.{_suffix(args[0].type)}"
        known = self.builder.module.globals
        function = known.get(name)
        if function is None:
            signature = ir.FunctionType(wanted, [arg.type for arg in args])
            function = ir.Function(self.builder.module, signature, name)
            _define_rounded(function, operation, mode, converts=bits > 0)
        return self.builder.call(function, args)


def _define_rounded(function: ir.Function, operation: str, mode: str, converts: bool) -> None:
    """Writes the body of a helper of `Emitter.rounded`."""
    function.linkage = "internal"
    function.attributes.add("noinline")
    set.add(function.attributes, "strictfp")  # llvmlite's list of known attributes lacks it
    e = Emitter(ir.IRBuilder(function.append_basic_block("entry")))
    module, source, wanted = function.module, function.args[0].type, function.return_value.type
    suffix = f"{_suffix(wanted)}.{_suffix(source)}" if converts else _suffix(source)
    metadata = [ir.MetaDataString(module, text) for text in ("round.dynamic", "fpexcept.strict")]
    signature = ir.FunctionType(wanted, [arg.type for arg in function.args] + [ir.MetaDataType()] * 2)
    callee = e.declared(f"llvm.experimental.constrained.{operation}.{suffix}", signature)
    set_rounding = e.declared("llvm.set.rounding", ir.FunctionType(ir.VoidType(), [I32]))
    e.builder.call(set_rounding, [ir.Constant(I32, _MODES[mode])])
    value = e.builder.call(callee, [*function.args, *metadata])
    e.builder.call(set_rounding, [ir.Constant(I32, _MODES["rn"])])
    e.builder.ret(value)
