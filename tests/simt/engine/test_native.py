"""The native subset of Python: what its functions compute once LLVM has compiled them."""

from __future__ import annotations

import ctypes

import pytest

from simt.codegen.jit import compile_ir
from simt.engine.native import native
from simt.engine.native_compiler import build_module
from simt.engine.records import Array, Ptr, Record, b1, f32, i32, i64, u8, u32, u64, void
from simt.engine.values import NativeError


class Point(Record):
    x: i32
    weight: u64
    tail: Array[u64, 4]
    next: Ptr[u8]


@native
def wrapped_sum(left: i32, right: i32) -> i32:
    return left + right


@native
def quotient(left: i32, right: i32) -> i32:
    return left // right


@native
def smaller_unsigned(left: u32, right: u32) -> b1:
    return left < right


@native
def smaller_signed(left: i32, right: i32) -> b1:
    return left < right


@native
def collatz_steps(start: u64) -> i64:
    steps = 0
    value = start
    while value != 1:
        if value % 2 == 0:
            value = value // 2
            steps += 1
            continue
        value = 3 * value + 1
        steps += 1
        if steps > 1000:
            break
    return steps


@native
def fill(point: Ptr[Point], by: u64) -> void:
    point.x += 1
    point.weight = by
    for index in range(4):
        point.tail[index] = by * u64(index)


@native
def guarded(pointer: Ptr[u32], use: i32) -> u32:
    if use != 0 and pointer[0] > 5:
        return pointer[0]
    return 0


@native
def helper(value: u32) -> u32:
    return value * 3


@native
def calls(value: u32) -> u32:
    return helper(value) + u32(popcount(value))  # noqa: F821 - a builtin of the subset


@native
def reversed_copy(source: Ptr[u32], target: Ptr[u32], count: i32) -> void:
    kept = local(u32, 8)  # noqa: F821
    for index in range(count):
        kept[index] = source[index]
    for index in range(count):
        target[count - 1 - index] = kept[index]


@native
def halved(value: f32) -> f32:
    return value / 2.0


def compiled(function, result, *arguments):
    code = compile_ir(str(build_module([function])), level=1)
    call = ctypes.CFUNCTYPE(result, *arguments)(code.address(function.name))
    call.code = code  # keeps the machine code alive
    return call


def test_integer_arithmetic_wraps():
    call = compiled(wrapped_sum, ctypes.c_int32, ctypes.c_int32, ctypes.c_int32)
    assert call(2**31 - 1, 1) == -(2**31)


def test_division_truncates_towards_zero():
    call = compiled(quotient, ctypes.c_int32, ctypes.c_int32, ctypes.c_int32)
    assert (call(-7, 2), call(7, 2)) == (-3, 3)


@pytest.mark.parametrize(
    ("function", "kind", "expected"),
    [(smaller_unsigned, ctypes.c_uint32, False), (smaller_signed, ctypes.c_int32, True)],
)
def test_comparison_follows_the_operands_signedness(function, kind, expected):
    call = compiled(function, ctypes.c_bool, kind, kind)
    assert call(kind(0xFFFFFFFF).value, 1) is expected


def test_loops_break_and_continue():
    call = compiled(collatz_steps, ctypes.c_int64, ctypes.c_uint64)
    assert [call(n) for n in (1, 6, 27)] == [0, 8, 111]


def test_records_have_the_layout_that_ctypes_sees():
    point = Point.structure()(x=4)
    compiled(fill, None, ctypes.c_void_p, ctypes.c_uint64)(ctypes.addressof(point), 7)
    assert (point.x, point.weight, list(point.tail)) == (5, 7, [0, 7, 14, 21])


def test_and_does_not_evaluate_what_the_left_side_forbids():
    call = compiled(guarded, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_int32)
    assert call(None, 0) == 0


def test_native_functions_call_each_other_and_builtins():
    call = compiled(calls, ctypes.c_uint32, ctypes.c_uint32)
    assert call(0b1011) == 33 + 3


def test_stack_arrays_hold_values():
    source, target = (ctypes.c_uint32 * 5)(1, 2, 3, 4, 5), (ctypes.c_uint32 * 5)()
    compiled(reversed_copy, None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32)(source, target, 5)
    assert list(target) == [5, 4, 3, 2, 1]


def test_floats_divide():
    assert compiled(halved, ctypes.c_float, ctypes.c_float)(3.0) == 1.5


@native
def mixes_signs(left: i32, right: u32) -> i32:
    return left + right


@native
def unknown_name(left: i32) -> i32:
    return left + nowhere  # noqa: F821


@pytest.mark.parametrize(("function", "words"), [(mixes_signs, "u32"), (unknown_name, "nowhere")])
def test_what_the_subset_lacks_is_named_with_its_line(function, words):
    with pytest.raises(NativeError, match=words) as error:
        build_module([function])
    assert "test_native.py, line" in str(error.value)
