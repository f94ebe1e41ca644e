"""Every syntax feature of PTX that the parser reads, a row each: text in, operands or fields out."""

import pytest

from simt.ptx.parser import PtxSyntaxError, parse
from simt.ptx.syntax import (
    Address,
    Guard,
    Immediate,
    Instruction,
    Label,
    Pair,
    Register,
    Sink,
    Special,
    Symbol,
    Vector,
)
from simt.ptx.types import TYPES

HEADER = ".version 8.5\n.target sm_90\n.address_size 64\n"
REGISTERS = """
.reg .pred %p<4>; .reg .b16 %rs<4>; .reg .b32 %r<9>; .reg .f32 %f<5>; .reg .b64 %rd<5>; .reg .b32 plain, _x$;
"""


def module(text):
    return parse(HEADER + text)


def function(body, params="", directives=""):
    return module(f".visible .entry k({params}) {directives} {{ {REGISTERS} {body} ret; }}").functions["k"]


def instructions(body, **options):
    return [item for item in function(body, **options).body if isinstance(item, Instruction)][:-1]


def operands(statement):
    (found,) = instructions(statement)
    return found.operands


def r(name):
    return Register(name)


def number(value):
    return Immediate("int", value)


ROWS = [
    ("add.s32 %r1, %r2, -7;", (r("%r1"), r("%r2"), number(-7))),
    ("mov.u32 %r1,plain;", (r("%r1"), r("plain"))),
    ("mov.u32 %r1, _x$;", (r("%r1"), r("_x$"))),
    ("mov.b32 %r1, 0x3fb8aa3bU;", (r("%r1"), number(0x3FB8AA3B))),
    ("mov.b32 %r1, 0X1F791F79U;", (r("%r1"), number(0x1F791F79))),
    ("mov.b32 %r1, 017;", (r("%r1"), number(15))),
    ("mov.b32 %r1, 0;", (r("%r1"), number(0))),
    ("mov.b32 %r1, 0b101;", (r("%r1"), number(5))),
    ("mov.b64 %rd1, 18446744073709551615;", (r("%rd1"), number(2**64 - 1))),
    ("mov.f32 %f1, 0f3F800000;", (r("%f1"), Immediate("f32", 0x3F800000))),
    ("mov.f32 %f1, 0F3f800000;", (r("%f1"), Immediate("f32", 0x3F800000))),
    ("mov.f64 %rd1, 0d4000000000000000;", (r("%rd1"), Immediate("f64", 0x4000000000000000))),
    ("mov.f64 %rd1, 1.5;", (r("%rd1"), Immediate("f64", 0x3FF8000000000000))),
    ("mov.f64 %rd1, 25e-1;", (r("%rd1"), Immediate("f64", 0x4004000000000000))),
    ("mov.u32 %r1, WARP_SZ;", (r("%r1"), number(32))),
    ("mov.u32 %r1, %tid.x;", (r("%r1"), Special("%tid.x"))),
    ("mov.u32 %r1, %ctaid.y;", (r("%r1"), Special("%ctaid.y"))),
    ("mov.u32 %r1, %cluster_ctaid.x;", (r("%r1"), Special("%cluster_ctaid.x"))),
    ("mov.u32 %r1, %cluster_ctarank;", (r("%r1"), Special("%cluster_ctarank"))),
    ("mov.u32 %r1, %laneid;", (r("%r1"), Special("%laneid"))),
    ("mov.u32 %r1, %lanemask_lt;", (r("%r1"), Special("%lanemask_lt"))),
    ("mov.u32 %r1, %envreg2;", (r("%r1"), Special("%envreg2"))),
    ("mov.u64 %rd1, %clock64;", (r("%rd1"), Special("%clock64"))),
    ("mov.u64 %rd1, table;", (r("%rd1"), Symbol("table"))),
    ("mov.u64 %rd1, table+8;", (r("%rd1"), Symbol("table", 8))),
    ("mov.u64 %rd1, table - 0x8;", (r("%rd1"), Symbol("table", -8))),
    ("ld.global.f32 %f1, [%rd1];", (r("%f1"), Address(r("%rd1")))),
    ("ld.global.f32 %f1, [%rd1+16];", (r("%f1"), Address(r("%rd1"), 16))),
    ("ld.global.f32 %f1, [%rd1+-16];", (r("%f1"), Address(r("%rd1"), -16))),
    ("ld.global.f32 %f1, [%rd1-16];", (r("%f1"), Address(r("%rd1"), -16))),
    ("ld.global.f32 %f1, [ %rd1 + 0 ];", (r("%f1"), Address(r("%rd1"), 0))),
    ("ld.param.u64 %rd1, [k_param_0+4];", (r("%rd1"), Address(Symbol("k_param_0"), 4))),
    ("ld.global.f32 %f1, [plain];", (r("%f1"), Address(r("plain")))),
    ("ld.global.f32 %f1, [0x10];", (r("%f1"), Address(None, 16))),
    ("ld.global.v4.b32 { %r1 , %r2,%r3, _ }, [%rd1];", (Vector((r("%r1"), r("%r2"), r("%r3"), Sink())), Address(r("%rd1")))),
    ("st.global.b32 [ %rd1 + 0 ], { %r1 };", (Address(r("%rd1")), Vector((r("%r1"),)))),
    ("mov.b32 %r1, {%rs1, %rs2};", (r("%r1"), Vector((r("%rs1"), r("%rs2"))))),
    ("mov.b32{%rs1,%rs2},%r1;", (Vector((r("%rs1"), r("%rs2"))), r("%r1"))),
    ("setp.lt.s32 %p1|%p2, %r1, 3;", (Pair(r("%p1"), r("%p2")), r("%r1"), number(3))),
    ("setp.lt.s32 _|%p2, %r1, 3;", (Pair(Sink(), r("%p2")), r("%r1"), number(3))),
    ("setp.lt.and.s32 %p1, %r1, 3, !%p2;", (r("%p1"), r("%r1"), number(3), Register("%p2", negated=True))),
    ("shfl.sync.bfly.b32 %r1|%p1, %r2, 1, 31, -1;", (Pair(r("%r1"), r("%p1")), r("%r2"), number(1), number(31), number(-1))),
    ("mbarrier.arrive.shared::cta.b64 _, [%r1];", (Sink(), Address(r("%r1")))),
    (
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile [%r1], [%rd1, {%r2, %r3}], [%r4];",
        (Address(r("%r1")), Address(r("%rd1"), 0, (Vector((r("%r2"), r("%r3"))),)), Address(r("%r4"))),
    ),
    ("tex.1d.v4.f32.s32 {%f1,%f2,%f3,%f4}, [%rd1, {%r1}];", (
        Vector((r("%f1"), r("%f2"), r("%f3"), r("%f4"))), Address(r("%rd1"), 0, (Vector((r("%r1"),)),)))),
    ("tex.1d.f32 %f1, [%rd1, %r1];", (r("%f1"), Address(r("%rd1"), 0, (r("%r1"),)))),
    ("bar.sync 0;", (number(0),)),
    ("membar.gl;", ()),
    ("call f;", (Vector(()), Symbol("f"), Vector(()))),
    ("call.uni f, (%r1);", (Vector(()), Symbol("f"), Vector((r("%r1"),)))),
    ("call.uni (%r1), \n f, \n (\n %r2, \n %r3 \n);", (Vector((r("%r1"),)), Symbol("f"), Vector((r("%r2"), r("%r3"))))),
    ("call (%r1), %rd1, (%r2), proto;", (Vector((r("%r1"),)), r("%rd1"), Vector((r("%r2"),)), Symbol("proto"))),
    ("call %rd1, proto;", (Vector(()), r("%rd1"), Vector(()), Symbol("proto"))),
]  # fmt: skip


@pytest.mark.parametrize("text, expected", ROWS, ids=[row[0].split("\n")[0] for row in ROWS])
def test_operands(text, expected):
    assert operands(text) == expected


def test_an_instruction_keeps_its_dotted_parts_and_its_line():
    (found,) = instructions("\n\nmbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], %r2;")
    assert (found.opcode, found.name) == ("mbarrier.try_wait.parity.shared::cta.b64", "mbarrier")
    assert found.mods == ("try_wait", "parity", "shared::cta", "b64")
    assert found.ptx_line == 8


@pytest.mark.parametrize(
    "text, guard",
    [
        ("@%p1 bra $L;", Guard("%p1", False)),
        ("@!%p1 bra $L;", Guard("%p1", True)),
        ("@! %p1 bra $L;", Guard("%p1", True)),
        ("@%p1\nbra $L;", Guard("%p1", False)),
        ("bra $L;", None),
    ],
)
def test_guards(text, guard):
    assert instructions(text + "$L:")[0].guard == guard


def test_inner_scopes_rename_registers_and_labels():
    found = function(
        """
        { .reg .b32 t<3>, %r1; .reg .pred p; mov.u32 t0, %r1; wait: @!p bra wait; bra done;
          { .reg .b32 t1; mov.u32 t1, t2; bra wait; bra outside; }
          done: }
        { .reg .b32 t0; wait: mov.u32 t0, %r1; bra wait; }
        outside:
        """
    )
    assert [str(item.name) for item in found.body if isinstance(item, Label)] == [
        "wait@1",
        "done@1",
        "wait@3",
        "outside",
    ]
    targets = [item.operands[0].name for item in found.body if getattr(item, "name", "") == "bra"]
    assert targets == ["wait@1", "done@1", "wait@1", "outside", "wait@3"]
    moves = [item.operands for item in found.body if getattr(item, "opcode", "") == "mov.u32"]
    assert moves == [(r("t0@1"), r("%r1@1")), (r("t1@2"), r("t2@1")), (r("t0@3"), r("%r1"))]
    assert found.registers["p@1"] is TYPES["pred"] and found.registers["t2@1"] is TYPES["b32"]


def test_a_name_means_what_its_scope_declares_at_that_point():
    first, second, third = instructions("mov.u32 %r1, v; { mov.u32 %r1, v; .reg .b32 v; mov.u32 %r1, v; }")
    assert [first.operands[1], second.operands[1], third.operands[1]] == [Symbol("v"), Symbol("v"), r("v@1")]


def test_call_sequences_keep_their_parameters_apart():
    body = """
        { .reg .b32 temp_param_reg; .param .b32 param0; st.param.b32 [param0+0], %r1; call.uni f, (param0); }
        { .reg .b32 temp_param_reg; .param .align 8 .b8 param0[16]; st.param.b32 [param0+4], %r1; call.uni f, (param0); }
    """
    found = function(body)
    assert [(row.space, row.name, row.align, row.n_bytes) for row in found.variables] == [
        ("param", "param0@1", 4, 4),
        ("param", "param0@2", 8, 16),
    ]
    assert instructions(body)[2].operands[0] == Address(Symbol("param0@2"), 4)


def test_labels_of_lists_are_no_places():
    found = function(
        """
        table: .branchtargets a, b;
        brx.idx %r1, table;
        a: { prototype_0 : .callprototype (.param .b32 _) _ (.param .b32 _); call (%r1), %rd1, (%r2), prototype_0; }
        b: calls: .calltargets f, g;
        """
    )
    assert [item.name for item in found.body if isinstance(item, Label)] == ["a", "b"]
    assert found.branch_targets == {"table": ("a", "b"), "calls": ("f", "g")}
    assert found.prototypes == {"prototype_0@1": "(.param .b32 _) _ (.param .b32 _)"}


def test_branch_targets_of_a_scope_are_renamed():
    found = function("{ t: .branchtargets a, b; brx.idx %r1, t; a: } b:")
    assert found.branch_targets == {"t@1": ("a@1", "b")}
    assert next(item for item in found.body if isinstance(item, Instruction)).operands[1] == Symbol("t@1")


def test_kernel_parameters():
    found = function(
        "",
        params="""
        .param .u64 .ptr .global .align 16 a, .param .u64 .ptr .align 1 b, .param .align 4 .b8 c[12], .param .f32 d,
        .param .align 64 .b8 map[128]
        """,
    )
    assert [(row.name, row.type.name, row.align, row.count, row.space) for row in found.params] == [
        ("a", "u64", 8, 1, "param"),
        ("b", "u64", 8, 1, "param"),
        ("c", "b8", 4, 12, "param"),
        ("d", "f32", 4, 1, "param"),
        ("map", "b8", 64, 128, "param"),
    ]


def test_performance_directives():
    found = function(
        "", directives='.maxntid 256 .minnctapersm 2\n.pragma "x;{"; .reqnctapercluster 2, 1 .explicitcluster'
    )
    assert found.directives == {
        "maxntid": (256, 1, 1),
        "minnctapersm": (2,),
        "reqnctapercluster": (2, 1, 1),
        "explicitcluster": (),
    }


def test_functions_declared_and_defined():
    found = module(
        """
        .extern .func (.param .b32 func_retval0) vprintf ( .param .b64 a, .param .b64 b ) ;
        .func (.param .b32 r) f ( .param .b32 x ) ;
        .weak .func .attribute(.unified(1, 2)) (.param .b32 r) f ( .param .b32 x ) .noreturn { trap; }
        .func g (.reg .u32 a) { .reg .u32 b; mov.u32 b, a; ret; }
        .alias h, f;
        """
    ).functions
    assert found["vprintf"].body is None and len(found["vprintf"].params) == 2
    assert len(found["f"].body) == 1 and found["f"].directives == {"noreturn": ()} and not found["f"].is_entry
    assert found["h"].body == found["f"].body and found["h"].name == "h"
    assert found["g"].body[0].operands == (r("b"), r("a"))


VARIABLES = [
    (".global .align 4 .u32 v = 7;", ("global", "u32", 4, 1), b"\7\0\0\0"),
    (".visible .const .align 4 .b8 v[4] = {0, 128, 63, 1};", ("const", "b8", 4, 4), bytes([0, 128, 63, 1])),
    (".global .u16 v[3] = {1, -2};", ("global", "u16", 2, 3), b"\1\0\xfe\xff"),
    (".global .f32 v[2] = {0f3F800000, 2.0};", ("global", "f32", 4, 2), b"\0\0\x80\x3f\0\0\0\x40"),
    (".global .f64 v = 0d3FF0000000000000;", ("global", "f64", 8, 1), b"\0\0\0\0\0\0\xf0\x3f"),
    (".global .f32 v = 1;", ("global", "f32", 4, 1), b"\0\0\x80\x3f"),
    (".global .b8 v[2][3] = {{1}, {4, 5, 6}};", ("global", "b8", 1, 6), bytes([1, 0, 0, 4, 5, 6])),
    (".global .b8 v[2][2][2] = {{{1}, {2}}, {{3, 4}}};", ("global", "b8", 1, 8), bytes([1, 0, 2, 0, 3, 4])),
    (".global .b8 v[] = {0x1, 02, 0b11};", ("global", "b8", 1, 3), bytes([1, 2, 3])),
    (".global .v4 .f32 v;", ("global", "f32", 16, 4), b""),
    (".shared .align 8 .b8 v[4][8];", ("shared", "b8", 8, 32), b""),
    (".common .global .u32 v;", ("global", "u32", 4, 1), b""),
    (".global .attribute(.managed) .align 4 .u32 v;", ("global", "u32", 4, 1), b""),
    (".global .b8 v[8589934592];", ("global", "b8", 1, 8589934592), b""),
]


@pytest.mark.parametrize("text, shape, init", VARIABLES, ids=[row[0] for row in VARIABLES])
def test_variables(text, shape, init):
    found = module(text).variables["v"]
    assert (found.space, found.type.name, found.align, found.count) == shape
    assert found.init == init and not found.extern


def test_an_extern_array_has_no_size():
    found = module(".extern .shared .align 16 .b8 v[];").variables["v"]
    assert found.extern and found.count == 0 and found.n_bytes == 0


def test_addresses_in_initialisers():
    found = module(
        """
        .global .u64 a[3] = {generic(x), f, generic(y)+8};
        .global .u64 b = x-4;
        .global .u8 c[9] = {1, 0xFF(generic(x)), 0xFF00(generic(x)), 0xFF0000(generic(x)), 0xFF000000(generic(x)),
            0xFF00000000(generic(x)), 0xFF0000000000(generic(x)), 0xFF000000000000(generic(x)),
            0xFF00000000000000(generic(x))};
        """
    ).variables
    assert found["a"].relocations == ((0, "x", 0), (8, "f", 0), (16, "y", 8))
    assert found["b"].relocations == ((0, "x", -4),)
    assert found["c"].relocations == ((1, "x", 0),) and found["c"].init == b"\1" + bytes(8)


def test_module_directives():
    found = parse('.version 7.8\n.target sm_80, debug\n.file 1 "/a //b.cu", 12, 34\n.pragma "nounroll";\n')
    assert (found.version, found.target, found.address_bits) == ((7, 8), "sm_80", 32)
    assert found.files == {1: "/a //b.cu"}


def test_comments_hold_anything():
    found = instructions('mov.u32 %r1, /* ; } \n " */ 5; // { ; "\n.pragma "no // comment"; mov.u32 %r2, 6;')
    assert [item.operands[1].value for item in found] == [5, 6]
    assert found[1].ptx_line == found[0].ptx_line + 2


ERRORS = [
    (".entry k() { mov.u32 %r1, 5; }", "register `%r1` isn't declared"),
    (".entry k() { @%p1 ret; }", "register `%p1` isn't declared"),
    (".entry k() { ret }", "can't read `ret }`"),
    (".entry k() { .reg .b32 r; add.s32 r, , r; }", "an operand is missing"),
    (".entry k() { .reg .b32 r; mov.u32 r, 12x; }", "`12x` is no number"),
    (".entry k() { .reg .b32 r; mov.u32 r, (1, 2; }", "unbalanced brackets"),
    (".entry k() { .reg .b32 r; mov.u32 r, [r; }", "unbalanced brackets"),
    (".entry k() { .reg .b32 r; mov.u32 r, [[r]]; }", "unbalanced brackets"),
    (".entry k() { .reg .b32 r; .reg .b32 r; }", "declared twice"),
    (".entry k() { .reg .b32 r<999999999>; }", "more registers are declared than the file can use"),
    (".entry k() { .reg .v4 .f32 r; }", "vector registers aren't supported"),
    (".entry k() { a: a: }", "label `a` is declared twice"),
    (".entry k() { .branchtargets a; }", "needs a label"),
    (".entry k() { call; }", "names no function"),
    (".entry k() { .frobnicate x; }", "`.frobnicate` is unknown"),
    (".entry k() { { }", "'{' without '}'"),
    (".entry k() { ret; } .entry k() { ret; }", "function `k` is defined twice"),
    (".entry k() .frobnicate 3 { ret; }", "`.frobnicate` is no directive"),
    (".entry k(.param .u32 a, .param .u32 a) { ret; }", "two parameters have one name"),
    (".global .u32 a; .global .u32 a;", "variable `a` is defined twice"),
    (".global .texref t;", "texture object"),
    (".global .u32 a[2] = {1, 2, 3};", "more initial values than elements"),
    (".global .u32 a = {1;", "isn't closed"),
    (".global .u32 a = 0d3FF0000000000000;", "can't initialise"),
    (".global .align 3 .u32 a;", "no power of two"),
    (".global .b8 a[2][99999999] = {{1}, {2}};", "bytes open between its rows"),
    (".global .u8 a[2] = {0xFF00(x)};", "doesn't continue an address"),
    (".global .u8 a[2] = {0xFF(x)};", "isn't complete"),
    ("bogus", "a directive expected"),
    (".bogus", "`.bogus` is unknown outside a function"),
    (".visible .version 7.0", "a function or variable expected"),
    ("\0", "NUL"),
]


@pytest.mark.parametrize("text, message", ERRORS, ids=[row[0] for row in ERRORS])
def test_errors_say_what_and_where(text, message):
    with pytest.raises(PtxSyntaxError) as caught:
        parse("\n\n" + text)
    assert message in caught.value.message and caught.value.line == 3


def test_roots_read_only_what_they_reach():
    text = """
        .func unused() { this is never read; }
        .func leaf() { ret; }
        .func through_a_table() { ret; }
        .func through_another() { ret; }
        .global .u64 table = through_a_table;
        .global .u64 unused_table = through_another;
        .alias second, middle;
        .func middle() { .reg .b64 a; call leaf; ld.global.u64 a, [table]; ret; }
        .entry k() { call second; call missing; ret; }
    """
    assert list(parse(text, ["k", "nothing"]).functions) == ["leaf", "through_a_table", "middle", "k", "second"]
    with pytest.raises(PtxSyntaxError):
        parse(text)
