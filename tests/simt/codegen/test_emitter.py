"""The emitter: constants by shape, what it knows of a value, and rounding in a function of its own."""

import pytest
from llvmlite import ir

from simt.codegen.emitter import Emitter, Splat, llvm_type
from simt.ptx.types import TYPES

I32, F32 = ir.IntType(32), ir.FloatType()


@pytest.fixture(params=["scalar", "vector"])
def emitted(request):
    """(emitter, an i32 argument, an f32 argument) in the shape asked for."""
    shape = (lambda lane: ir.VectorType(lane, 32)) if request.param == "vector" else (lambda lane: lane)
    function = ir.Function(ir.Module(), ir.FunctionType(ir.VoidType(), [shape(I32), shape(F32)]), "f")
    return Emitter(ir.IRBuilder(function.append_basic_block())), *function.args


def test_constant_takes_the_shape_of_its_neighbour(emitted):
    e, a, x = emitted
    assert e.const(a, -1).type == a.type
    assert e.const(x, 1.5).type == x.type
    assert e.width(e.const(x, 3, 64)) == 64


def test_literal_is_known_in_either_shape(emitted):
    e, a, x = emitted
    assert e.literal(e.const(a, 7)) == 7
    assert e.literal(e.const(a, -1)) == 0xFFFFFFFF
    assert e.literal(a) is None and e.literal(e.const(x, 1.0)) is None


def test_splat_is_short():
    constant = Splat(ir.VectorType(I32, 32), ir.Constant(I32, 5))
    assert str(constant) == "<32 x i32> splat (i32 5)"


def test_nan_constant_keeps_its_bits(emitted):
    e, _, x = emitted
    assert "2147483647" in str(e.float_bits(x, 0x7FFFFFFF))


def test_rounded_operation_is_one_function_however_often_used(emitted):
    e, _, x = emitted
    e.rounded("fadd", "rz", x, x)
    e.rounded("fadd", "rz", x, x)
    names = [name for name in e.builder.module.globals if name.startswith("simt.fadd.rz")]
    assert len(names) == 1


def test_types_of_ptx_map_to_llvm():
    assert str(llvm_type(TYPES["f16"])) == "half"
    assert str(llvm_type(TYPES["bf16"])) == "i16"
    assert str(llvm_type(TYPES["pred"])) == "i1"
    assert str(llvm_type(TYPES["b128"])) == "i128"
