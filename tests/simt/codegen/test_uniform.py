"""Which registers may live as scalars."""

from simt.codegen.uniform import analyse, waiting_loops
from simt.ptx.cfg import build
from simt.ptx.parser import parse

HEAD = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 n)
{
.reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %rd<9>; .reg .f32 %f<9>;
"""


def analysis(body, block=(64, 1, 1)):
    function = parse(HEAD + body + "\n}").functions["k"]
    return analyse(build(function), block).registers


def test_parameters_and_block_coordinates_are_uniform():
    found = analysis("ld.param.u32 %r1, [n]; mov.u32 %r2, %ctaid.x; mad.lo.s32 %r3, %r1, %r2, 4; ret;")
    assert {"%r1", "%r2", "%r3"} <= found


def test_thread_and_lane_numbers_vary():
    found = analysis("mov.u32 %r1, %tid.x; mov.u32 %r2, %laneid; add.s32 %r3, %r1, 1; ret;")
    assert not {"%r1", "%r2", "%r3"} & found


def test_the_row_of_a_thread_is_uniform_only_when_rows_are_whole_warps():
    body = "mov.u32 %r1, %tid.y; ret;"
    assert "%r1" in analysis(body, (32, 8, 1))
    assert "%r1" not in analysis(body, (16, 8, 1))


LOOP = """
mov.u32 %r1, 0; ld.param.u32 %r2, [n]; mov.u32 %r5, %tid.x;
L: add.s32 %r1, %r1, 1; setp.lt.s32 %p1, %r1, {bound};
@%p1 bra L;
st.global.u32 [%rd1], %r1; ret;
"""


def test_a_counter_of_a_loop_that_all_lanes_leave_together_is_uniform():
    assert "%r1" in analysis(LOOP.format(bound="%r2"))


def test_a_counter_of_a_loop_that_lanes_leave_one_by_one_varies():
    assert "%r1" not in analysis(LOOP.format(bound="%r5"))


def test_a_value_set_in_one_arm_of_a_divergent_branch_varies():
    found = analysis(
        "mov.u32 %r1, 0; mov.u32 %r2, %tid.x; setp.lt.s32 %p1, %r2, 5; @%p1 bra L; mov.u32 %r1, 1;\n"
        "L: st.global.u32 [%rd1], %r1; ret;"
    )
    assert "%r1" not in found


def test_lanes_that_only_leave_do_not_make_the_rest_divergent():
    found = analysis(
        "mov.u32 %r1, %tid.x; ld.param.u32 %r2, [n]; setp.ge.s32 %p1, %r1, %r2; @%p1 bra E;\n"
        "mov.u32 %r3, 0;\nL: add.s32 %r3, %r3, 1; setp.lt.s32 %p2, %r3, %r2; @%p2 bra L;\n"
        "st.global.u32 [%rd1], %r3;\nE: ret;"
    )
    assert "%r3" in found


def test_a_load_from_a_uniform_address_is_uniform_but_not_from_local_memory():
    found = analysis("ld.param.u64 %rd1, [p]; ld.global.f32 %f1, [%rd1]; ld.local.f32 %f2, [%rd1]; ret;")
    assert "%f1" in found and "%f2" not in found


def test_an_atomic_varies():
    assert "%r1" not in analysis("ld.param.u64 %rd1, [p]; atom.global.add.u32 %r1, [%rd1], 1; ret;")


def test_a_reduction_over_the_warp_varies_since_lanes_may_name_other_lanes():
    assert "%r1" not in analysis("mov.u32 %r2, 1; redux.sync.add.u32 %r1, %r2, 0xffffffff; ret;")


def test_a_loop_that_waits_for_an_atomic_keeps_only_constants():
    body = (
        "ld.param.u64 %rd1, [p]; mov.u32 %r3, 0;\nL: add.s32 %r3, %r3, 1; atom.global.exch.b32 %r1, [%rd1], 1;\n"
        "setp.ne.s32 %p1, %r1, 0; @%p1 bra L; st.global.u32 [%rd1], %r3; ret;"
    )
    function = parse(HEAD + body + "\n}").functions["k"]
    access = waiting_loops(build(function))[0][0]
    assert access.name == "atom"
    found = analysis(body)
    assert "%rd1" in found and "%r3" not in found
