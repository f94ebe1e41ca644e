"""When neighbouring shared loads become one vector load."""

import pytest

from simt.codegen.merge import merge_shared_loads, trailing_zeros
from simt.ptx.parser import parse

HEAD = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p)
{
.reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %rd<9>; .reg .f32 %f<30>;
.shared .align 4 .b8 tile[1024];
mov.u32 %r1, %tid.x; mov.u32 %r2, tile;
"""


def loads(body):
    function = parse(HEAD + body + "\nret;\n}").functions["k"]
    merged = merge_shared_loads(function, {"tile": 0})
    return [i.opcode for i in merged.body if getattr(i, "name", "") == "ld"]


def four(base, start=0):
    return " ".join(f"ld.shared.f32 %f{n + 1}, [{base}+{start + 4 * n}];" for n in range(4))


ROW = "shl.b32 %r3, %r1, 7; add.s32 %r4, %r2, %r3; "


def test_four_words_from_an_aligned_row_merge():
    assert loads(ROW + four("%r4")) == ["ld.shared.v4.b32"]


def test_words_of_a_variable_addressed_by_name_merge():
    assert loads(four("tile", 16)) == ["ld.shared.v4.b32"]


def test_a_padded_row_cannot_merge():
    assert loads("mad.lo.s32 %r4, %r1, 132, %r2; " + four("%r4")) == ["ld.shared.f32"] * 4


def test_a_row_aligned_to_8_bytes_merges_in_pairs():
    assert loads("shl.b32 %r3, %r1, 3; add.s32 %r4, %r2, %r3; " + four("%r4")) == ["ld.shared.v2.b32"] * 2


@pytest.mark.parametrize("between", ["bar.sync 0;", "st.shared.f32 [%r2], %f9;", "atom.shared.add.u32 %r9, [%r2], 1;"])
def test_nothing_merges_across_a_barrier_store_or_atomic(between):
    body = ROW + f"ld.shared.f32 %f1, [%r4]; {between} ld.shared.f32 %f2, [%r4+4];"
    assert loads(body) == ["ld.shared.f32"] * 2


def test_a_load_into_a_register_read_before_it_stays_where_it_is():
    body = ROW + "ld.shared.f32 %f1, [%r4]; add.f32 %f3, %f2, %f2; ld.shared.f32 %f2, [%r4+4];"
    assert loads(body) == ["ld.shared.f32"] * 2


def test_a_base_that_changes_between_two_loads_keeps_them_apart():
    body = ROW + "ld.shared.f32 %f1, [%r4]; add.s32 %r4, %r4, 128; ld.shared.f32 %f2, [%r4+4];"
    assert loads(body) == ["ld.shared.f32"] * 2


def test_known_zero_bits_survive_a_loop():
    body = parse(HEAD + "mov.u32 %r5, 0;\nL: add.s32 %r5, %r5, 64; setp.lt.s32 %p1, %r5, 512; @%p1 bra L;\nret;\n}")
    zeros = trailing_zeros(list(body.functions["k"].body), {"tile": 0})
    assert zeros["%r5"] == 6
