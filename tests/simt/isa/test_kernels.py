"""The PTX around a form, as a GPU will get it."""

from simt.isa import lookup
from tests.simt.isa.kernels import ptx_for


def body(opcode, constants=None):
    return ptx_for(lookup(opcode), constants)


def test_kernel_executes_the_form_on_what_it_loads():
    text = body("add.s32")
    assert "add.s32 %d0, %s0, %s1;" in text
    assert text.count("ld.global.b32") == 2 and text.count("st.global.b32") == 1


def test_words_of_the_table_become_operands():
    assert "mov.b64 %d0, {%s0, %s1};" in body("mov.b64.pack2")
    assert "mov.b64 {%d0, %d1}, %s0;" in body("mov.b64.unpack2")
    assert "setp.lt.s32 %d0|%d1, %s0, %s1;" in body("setp.lt.s32.pair")
    assert "min.f32 %d0, %s0, %s1, %s2;" in body("min.f32.three")


def test_constant_is_written_out_and_not_loaded():
    text = body("lop3.b32", {3: 0xCA})
    assert "lop3.b32 %d0, %s0, %s1, %s2, 202;" in text
    assert text.count("ld.global") == 3


def test_carry_is_set_before_and_read_after():
    lines = [line.strip() for line in body("addc.cc.u32").splitlines()]
    at = lines.index("addc.cc.u32 %d0, %s0, %s1;")
    assert lines[at - 1] == "add.cc.u32 %set, %set, -1;"
    assert lines[at + 1] == "addc.u32 %set, 0, 0;"
