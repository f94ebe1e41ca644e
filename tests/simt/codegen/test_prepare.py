"""Inlining and the registers that stand for parameters of calls."""

import pytest

from simt.codegen.prepare import Unsupported, prepare
from simt.ptx.parser import parse
from simt.ptx.syntax import Instruction

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
CALLEE = """
.func (.param .b32 out) twice(.param .b32 a)
{ .reg .b32 %r<5>; .reg .pred %p<3>;
  ld.param.u32 %r1, [a]; setp.eq.s32 %p1, %r1, 0; @%p1 bra Z;
  add.s32 %r2, %r1, %r1; st.param.b32 [out], %r2; ret;
Z: st.param.b32 [out], 7; ret; }
"""
CALL = """{ .param .b32 param0; st.param.b32 [param0], %r1; .param .b32 retval0;
  call.uni (retval0), twice, (param0); ld.param.b32 %r2, [retval0]; }"""


def entry(body, functions=CALLEE):
    registers = "{ .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<3>;\n"
    text = HEAD + functions + ".visible .entry k(.param .u64 p)\n" + registers + body + "\nret;\n}"
    module = parse(text)
    return prepare(module, module.functions["k"])


def instructions(function):
    return [i for i in function.body if isinstance(i, Instruction)]


def test_a_call_becomes_the_body_of_its_function():
    found = instructions(entry(CALL))
    assert not any(i.name == "call" for i in found)
    assert [i.name for i in found].count("add") == 1


def test_parameters_of_a_call_are_registers():
    function = entry(CALL)
    assert not any(v.space == "param" for v in function.variables)
    assert any(i.opcode == "mov.param.b32" for i in instructions(function))


def test_two_calls_get_registers_of_their_own():
    function = entry(CALL + CALL)
    written = [i.operands[0].name for i in instructions(function) if i.name == "add"]
    assert len(set(written)) == 2


def test_a_return_inside_the_function_jumps_behind_the_call():
    found = instructions(entry(CALL))
    assert [i.name for i in found].count("ret") == 1


@pytest.mark.parametrize(
    ("functions", "body", "words"),
    [
        (".func again(.param .b32 a)\n{ call.uni again, (); ret; }", "{ .param .b32 q; call.uni again, (q); }", "parameters"),
        (".func again(.reg .b32 a)\n{ call.uni again, (a); ret; }", "{ .param .b32 q; call.uni again, (q); }", "no scalar"),
        (".extern .func away(.param .b32 a);", "{ .param .b32 q; call.uni away, (q); }", "no body"),
    ],
)  # fmt: skip
def test_calls_that_cannot_be_inlined_are_named(functions, body, words):
    with pytest.raises(Unsupported, match=words) as error:
        entry(body, functions)
    assert error.value.instruction.name == "call"


def test_a_reducing_barrier_is_split_from_its_result():
    found = instructions(entry("bar.red.popc.u32 %r1, 0, %p1;", ""))
    assert [i.opcode for i in found][:2] == ["bar.red.popc.u32", "barrier_result.popc"]
