"""Control flow of hand-written functions: blocks, running order, post-dominators, control dependence, loops."""

import pytest

from simt.ptx.cfg import build, controllers
from simt.ptx.parser import PtxSyntaxError, parse

REGISTERS = ".reg .pred %p<9>; .reg .b32 %r<9>;"


def cfg_of(body, **options):
    return build(parse(f".entry k() {{ {REGISTERS} {body} }}").functions["k"], **options)


def names(cfg, blocks):
    """Labels of the blocks, `-` for one without and `exit` for leaving the function."""
    return ["exit" if index == cfg.exit else cfg.blocks[index].label or "-" for index in blocks]


def order(cfg):
    return names(cfg, range(len(cfg.blocks)))


def at(cfg, label):
    return cfg.labels[label]


IF_ELSE = "@%p1 bra ELSE; add.s32 %r1, %r1, 1; bra JOIN; ELSE: add.s32 %r1, %r1, 2; JOIN: ret;"
EXIT_FIRST = "bra BODY; DONE: mov.u32 %r1, 0; ret; BODY: add.s32 %r1, %r1, 1; @%p1 bra BODY; bra DONE;"
BREAK_CONTINUE = """
    HEAD: @%p1 bra DONE;
    @%p2 bra DONE;
    @%p3 bra NEXT;
    add.s32 %r1, %r1, 1;
    NEXT: add.s32 %r2, %r2, 1;
    bra HEAD;
    DONE: ret;
"""
NESTED = """
    @%p1 bra OUTER_ELSE;
    @%p2 bra INNER_ELSE;
    A: bra INNER_JOIN;
    INNER_ELSE: bra INNER_JOIN;
    INNER_JOIN: bra OUTER_JOIN;
    OUTER_ELSE: add.s32 %r1, %r1, 1;
    OUTER_JOIN: ret;
"""
IRREDUCIBLE = "@%p1 bra B; A: add.s32 %r1, %r1, 1; B: @%p2 bra A; bra DONE; DONE: ret;"


def test_a_branch_has_two_successors_and_meets_at_its_post_dominator():
    cfg = cfg_of(IF_ELSE)
    assert order(cfg) == ["-", "-", "ELSE", "JOIN"]
    assert names(cfg, cfg.blocks[0].successors) == ["ELSE", "-"] and cfg.blocks[0].fall_through == 1
    assert names(cfg, cfg.post_dominator) == ["JOIN", "JOIN", "JOIN", "exit"]
    assert cfg.dominator == (0, 0, 0, 0)
    assert [set(row) for row in cfg.control_dependence] == [set(), {0}, {0}, set()]
    assert cfg.blocks[3].predecessors == (1, 2)


def test_a_block_ends_with_its_terminator():
    cfg = cfg_of(IF_ELSE)
    assert [block.terminator and block.terminator.name for block in cfg.blocks] == ["bra", "bra", None, "ret"]
    assert [len(block.straight) for block in cfg.blocks] == [0, 1, 1, 0]
    assert [block.leaves for block in cfg.blocks] == [False, False, False, True]
    assert [block.branches for block in cfg.blocks] == [True, False, False, False]


def test_a_loop_runs_before_its_exit_wherever_the_exit_stands():
    cfg = cfg_of(EXIT_FIRST)
    assert order(cfg) == ["-", "BODY", "-", "DONE"]
    assert [(names(cfg, loop.blocks), loop.irreducible) for loop in cfg.loops] == [(["BODY"], False)]


def test_all_of_a_loop_runs_before_its_exit_though_one_path_leaves_early():
    # From B the way out is met before C was, yet C belongs to the loop.
    cfg = cfg_of("H: @%p1 bra A; bra B; OUT: ret; A: bra C; B: @%p2 bra OUT; bra C; C: bra H;")
    assert order(cfg)[-1] == "OUT" and order(cfg)[0] == "H"
    assert at(cfg, "C") > max(at(cfg, "A"), at(cfg, "B"))


def test_break_and_continue():
    cfg = cfg_of(BREAK_CONTINUE)
    assert order(cfg) == ["HEAD", "-", "-", "-", "NEXT", "DONE"]
    (loop,) = cfg.loops
    assert (loop.header, loop.blocks, loop.depth, loop.parent) == (0, {0, 1, 2, 3, 4}, 1, None)
    assert names(cfg, cfg.post_dominator) == ["DONE", "DONE", "NEXT", "NEXT", "HEAD", "exit"]
    assert cfg.control_dependence[at(cfg, "NEXT")] == {1} and cfg.control_dependence[0] == {1}
    assert controllers(cfg, 3) == {0, 1, 2} and controllers(cfg, at(cfg, "DONE")) == frozenset()


def test_nested_divergence_meets_inside_out():
    cfg = cfg_of(NESTED)
    assert order(cfg) == ["-", "-", "A", "INNER_ELSE", "INNER_JOIN", "OUTER_ELSE", "OUTER_JOIN"]
    assert names(cfg, cfg.post_dominator)[:4] == ["OUTER_JOIN", "INNER_JOIN", "INNER_JOIN", "INNER_JOIN"]
    assert controllers(cfg, at(cfg, "A")) == {0, 1} and controllers(cfg, at(cfg, "INNER_JOIN")) == {0}


def test_inner_loops_know_their_outer_one():
    cfg = cfg_of("L: mov.u32 %r1, 0; M: add.s32 %r1, %r1, 1; @%p1 bra M; @%p2 bra L; ret;")
    outer, inner = cfg.loops
    assert (outer.depth, inner.depth, inner.parent) == (1, 2, 0)
    assert cfg.loop_of == (0, 1, 0, None)


def test_a_loop_with_two_entries_is_flagged():
    cfg = cfg_of(IRREDUCIBLE)
    (loop,) = cfg.loops
    assert loop.irreducible and set(names(cfg, loop.blocks)) == {"A", "B"}
    assert order(cfg)[-1] == "DONE"


def test_blocks_that_nothing_reaches_are_dropped():
    cfg = cfg_of("bra DONE; DEAD: add.s32 %r1, %r1, 1; DONE: ret; LATE: ret;")
    assert order(cfg) == ["-", "DONE"] and "DEAD" not in cfg.labels and cfg.blocks[1].predecessors == (0,)


def test_a_guarded_exit_parts_lanes():
    cfg = cfg_of("@%p1 exit; mov.u32 %r1, 0; @!%p2 ret; mov.u32 %r2, 0;")
    assert [(block.successors, block.leaves, block.branches) for block in cfg.blocks] == [
        ((1,), True, True),
        ((2,), True, True),
        ((), True, False),
    ]
    assert cfg.post_dominator == (3, 3, 3) and controllers(cfg, 2) == {0, 1}


def test_the_end_of_the_text_leaves():
    assert cfg_of("mov.u32 %r1, 0;").blocks[0].leaves
    cfg = cfg_of("X: @%p1 bra X;")
    assert cfg.blocks[0].leaves and cfg.post_dominator == (1,)
    assert len(cfg_of("").blocks) == 1


def test_several_labels_name_one_block():
    cfg = cfg_of("bra B; A: B: C: ret;")
    assert cfg.blocks[1].labels == ("A", "B", "C") and cfg.labels == {"A": 1, "B": 1, "C": 1}


def test_an_indexed_branch_lists_its_targets():
    cfg = cfg_of("T: .branchtargets A, B, A; @%p1 brx.idx %r1, T; ret; A: ret; B: ret;")
    assert names(cfg, cfg.blocks[0].targets) == ["A", "B", "A"]
    assert names(cfg, cfg.blocks[0].successors) == ["A", "B", "-"]


def test_splits_are_made_where_asked():
    body = "mov.u32 %r1, 0; bar.sync 0; mov.u32 %r2, 0; call f; ret;"
    assert len(cfg_of(body).blocks) == 1
    after = cfg_of(body, split_after=lambda item: item.name == "bar")
    assert [[item.name for item in block.instructions] for block in after.blocks] == [
        ["mov", "bar"],
        ["mov", "call", "ret"],
    ]
    assert after.blocks[0].terminator is None and after.blocks[0].fall_through == 1
    before = cfg_of(body, split_before=lambda item: item.name in ("bar", "call"))
    assert [block.instructions[0].name for block in before.blocks] == ["mov", "bar", "call"]
    both = cfg_of("bar.sync 0; bar.sync 1;", split_before=lambda item: True, split_after=lambda item: True)
    assert len(both.blocks) == 2


def test_an_endless_loop_has_post_dominators():
    cfg = cfg_of("@%p1 bra L; ret; L: @%p2 bra M; bra N; M: bra N; N: bra L;")
    assert names(cfg, [cfg.post_dominator[at(cfg, "L")]]) == ["N"]
    assert names(cfg, [cfg.post_dominator[0]]) == ["exit"]


def test_a_jump_to_nowhere_is_an_error():
    with pytest.raises(PtxSyntaxError, match="label `X` isn't declared"):
        cfg_of("bra X;")
    with pytest.raises(PtxSyntaxError, match="names no target"):
        cfg_of("brx.idx %r1, T;")
    with pytest.raises(ValueError, match="only declared"):
        build(parse(".func f();").functions["f"])
