"""The table itself: patterns, look-up, messages, and which form an instruction is."""

from collections import Counter
from itertools import islice

import pytest

from simt.isa import FAMILIES, TABLE, MalformedInstruction, UnsupportedInstruction, form_of, lookup, operands_of, table
from simt.isa.op import Role, expand, forms_of
from simt.isa.special import SPECIAL_REGISTERS
from simt.ptx.syntax import Immediate, Instruction, Pair, Register, Sink, Special, Symbol, Vector
from tests.simt.isa.forms import pure

ROWS = [row for family in FAMILIES for row in family.ROWS]


def instruction(opcode, *operands):
    name, *mods = opcode.split(".")
    return Instruction(opcode, name, tuple(mods), operands)


def registers(count):
    return tuple(Register(f"%r{index}") for index in range(count))


def test_pattern_expands_to_each_choice():
    assert list(expand("add{.sat}.{s32,u32}")) == ["add.s32", "add.u32", "add.sat.s32", "add.sat.u32"]


def test_every_form_is_found_by_its_opcode():
    for row in ROWS:
        for form in islice(forms_of(row), 2000):
            assert lookup(form.opcode) == form


def test_no_opcode_belongs_to_two_rows():
    counts = Counter(form.opcode for family in FAMILIES for form in pure(family))
    assert max(counts.values()) == 1


def test_pure_rows_have_meaning_and_translation_and_others_neither():
    for row in ROWS:
        has = (row.shape is not None, row.eval is not None, row.emit is not None)
        assert has == ((True,) * 3 if row.role is Role.PURE else (False,) * 3), row.forms


def test_rows_name_their_section_and_stay_within_ptx_9():
    for row in ROWS:
        assert row.section, row.forms
        assert tuple(map(int, row.since[0].split("."))) <= (9, 0), row.forms


def test_a_known_opcode_is_found_without_expanding_a_row(monkeypatch):
    """Some rows stand for thousands of forms, which a first look-up would make a student wait for."""
    monkeypatch.setattr(table, "forms_of", lambda row: pytest.fail(f"{row.name} was expanded"))
    assert lookup.__wrapped__("ld.global.L1::no_allocate.L2::256B.v4.f32").op.name == "ld"


def test_unknown_opcode_names_its_neighbours():
    with pytest.raises(UnsupportedInstruction, match="`add.s31` is not supported.*add.s32"):
        lookup("add.s31")
    with pytest.raises(UnsupportedInstruction, match="`tcgen05.fence.after` is not supported"):
        lookup("tcgen05.fence.after")
    assert "no.such" not in TABLE and "add.s32" in TABLE


@pytest.mark.parametrize(
    ("opcode", "nearest"),
    [
        ("mull.lo.u32", ("mul",)),
        ("add.rn", ("add.rn.f32", "add.rn.f64", "add.rn.f16")),
        ("cvt.rn.f32.s33", ("cvt.rn.f32.s32",)),
        ("st.globl.f32", ("st.global.f32", "st.local.f32", "st.global.b32")),
        ("cpp.async.ca", ("cp",)),
        # Alike in their letters only.
        ("cp.reducer.sync.bulk", ()),
        ("st.async.b32", ()),
        ("xp.async.ca", ()),
        ("tex.1d.v4.f32.s32", ()),
    ],
)
def test_only_opcodes_that_one_may_have_meant_are_suggested(opcode, nearest):
    with pytest.raises(UnsupportedInstruction) as missing:
        lookup(opcode)
    assert missing.value.nearest == nearest


def test_ptx_cannot_spell_the_words_of_the_table():
    with pytest.raises(UnsupportedInstruction):
        form_of(instruction("mov.b64.pack2", *registers(3)))


@pytest.mark.parametrize(
    "operands, opcode",
    [
        (registers(2), "mov.b64"),
        ((Register("%rd1"), Vector(registers(2))), "mov.b64.pack2"),
        ((Vector((*registers(1), Sink())), Register("%rd1")), "mov.b64.unpack2"),
        ((Register("%rd1"), Special("%clock64")), "mov.b64.special"),
        ((Register("%rd1"), Symbol("table", 8)), "mov.b64.address"),
    ],
)
def test_operands_tell_moves_apart(operands, opcode):
    assert form_of(instruction("mov.b64", *operands)).opcode == opcode


def test_two_predicates_make_a_pair():
    both = instruction("setp.lt.s32", Pair(Register("%p1"), Sink()), *registers(2))
    form = form_of(both)
    assert form.opcode == "setp.lt.s32.pair"
    assert operands_of(both, form) == ((Register("%p1"), Sink()), registers(2))


def test_three_sources_make_another_minimum():
    assert form_of(instruction("min.f32", *registers(4))).opcode == "min.f32.three"


def test_carry_is_no_operand():
    add = instruction("addc.cc.u32", *registers(3))
    form = form_of(add)
    shape = form.op.shape(form)
    assert shape.carry_in and shape.carry_out
    assert operands_of(add, form) == (registers(3)[:1], registers(3)[1:])


@pytest.mark.parametrize("operands", [registers(2), registers(4), (Vector(registers(2)), *registers(2)), ()])
def test_wrong_number_of_operands_is_named(operands):
    with pytest.raises(MalformedInstruction, match="`add.s32`.*takes 1 result.* and 2 source"):
        form_of(instruction("add.s32", *operands))


def test_immediate_is_a_source():
    form = form_of(instruction("add.s32", Register("%r1"), Register("%r2"), Immediate("int", 1)))
    assert form.opcode == "add.s32"


def test_special_registers_are_listed_with_their_types():
    assert SPECIAL_REGISTERS["%tid.x"].name == "u32"
    assert SPECIAL_REGISTERS["%clock64"].name == "u64"
