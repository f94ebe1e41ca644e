"""Hostile text: nothing but `PtxSyntaxError` comes out, and every size costs time in proportion."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simt.ptx.cfg import build
from simt.ptx.graph import MAX_LOOP_DEPTH
from simt.ptx.liveness import liveness
from simt.ptx.parser import PtxSyntaxError, parse

DATA = Path(__file__).parent / "data"
SAMPLE = (DATA / "asm.ptx").read_text() + (DATA / "llvm.ptx").read_text().partition(".address_size 64")[2].replace(
    "k(", "k2("
)
PIECES = st.sampled_from(
    ["{", "}", "[", "]", "(", ")", ";", ":", "::", ",", ".", "@", "!", "|", '"', "//", "/*", "*/", "\n", "\t ", "%r1", "x"]
    + [".reg .b32 %r<9>", ".loc 1 2 3", ", function_name x, inlined_at 1 2 3", ".entry k()", ".func", ".param .b32 p"]
    + [".global", ".section", ".file 1", "mov.u32", "call", "bra", "0x", "0f3F800000", "-1", "= ", "generic(", "<", ">"]
    + [".callprototype", ".branchtargets", "ret;", "99999999999999999999999", "é", "_", "$L"]
)  # fmt: skip


def attempt(text):
    """Reads `text` and, when that works, everything that is built on it."""
    try:
        for function in parse(text).functions.values():
            if function.body is not None:
                liveness(build(function))
    except PtxSyntaxError as error:
        assert 1 <= error.line <= text.count("\n") + 1


@settings(max_examples=200)
@given(st.lists(PIECES, max_size=60))
def test_any_text_parses_or_raises_the_own_error(pieces):
    attempt("".join(pieces))
    attempt(".entry k() {" + " ".join(pieces) + "}")


@settings(max_examples=150)
@given(st.data())
def test_damaged_output_parses_or_raises_the_own_error(data):
    text = SAMPLE
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        length = data.draw(st.integers(0, 40))
        text = text[:start] + data.draw(PIECES) + text[start + length :]
    attempt(text)


@settings(max_examples=100)
@given(st.text(max_size=200))
def test_any_characters_are_taken(text):
    attempt(text)
    attempt(f".entry k() {{ {text} }}")


N = 100_000
LONG = {
    "spaces": " " * N,
    "spaces in a body": ".entry k() { ret;" + " " * N + "x }",
    "open comments": "/*" * N,
    "open strings": '"' * N,
    "open strings in lines": '"\n' * N,
    "scopes": ".entry k() {" + "{" * N + "}" * N + "}",
    "brackets": ".entry k() { .reg .b32 r; mov.b32 r, " + "[" * N + "]" * N + "; }",
    "parentheses": ".entry k() { call f, " + "(" * N + "; }",
    "vectors": ".entry k() { mov.b32 " + "{x," * N + "; }",
    "commas": ".entry k() { mov.b32 " + "," * N + "; }",
    "no semicolons": ".entry k() {" + "mov.b32 a\n" * N + "}",
    "labels": ".entry k() {" + "".join(f"L{index}: " for index in range(N)) + "}",
    "modifiers": ".global" + " .align 4" * N + ";",
    "dots": ".entry k() { mov" + ".b" * N + "; }",
    "dimensions": ".global .b8 a" + "[9]" * N + ";",
    "digits": ".global .u32 a = " + "9" * N + ";",
    "float digits": ".global .f64 a = 1." + "9" * N + ";",
    "nested rows": ".global .b8 a = " + "{" * N + "}" * N + ";",
    "wide rows": ".global .b8 a[9][9999999] = {" + "{}," * N + "};",
    "linkage": ".visible " * N,
    "functions": "".join(f".func f{index}() {{ .reg .b32 %r<4000>; }}" for index in range(N // 100)),
    "locations": ".entry k() {"
    + "".join(f".loc 1 {index + 1} 0, function_name x, inlined_at 1 {index} 0\n" for index in range(N // 10))
    + "ret; }",
    "branches to one exit": ".entry k() { .reg .pred p;" + "@p bra X; " * (N // 10) + "X: ret; }",
    "branches from one entry": ".entry k() { .reg .pred p; top:" + "@p bra top; " * (N // 10) + "}",
    "loops": ".entry k() { .reg .pred p;" + "".join(f"L{i}: @p bra L{i}; " for i in range(N // 20)) + "}",
    "registers": ".entry k() { .reg .b32 %r<50000>; .reg .pred p; "
    + "".join(f"L{i}: add.s32 %r{i}, %r{i + 1}, 1; @p bra L{i}; " for i in range(N // 100))
    + "}",
}


@pytest.mark.timeout(240)  # the slowest takes a second; a quadratic step would take many minutes
@pytest.mark.parametrize("text", LONG.values(), ids=LONG.keys())
def test_long_text_takes_time_in_proportion(text):
    attempt(text)


def test_loops_nest_to_a_limit():
    def nested(depth):
        return (
            ".entry k() { .reg .pred p;"
            + "".join(f"L{level}: mov.pred p, p; " for level in range(depth))
            + "".join(f"@p bra L{level}; " for level in reversed(range(depth)))
            + "ret; }"
        )

    assert len(build(parse(nested(MAX_LOOP_DEPTH)).functions["k"]).loops) == MAX_LOOP_DEPTH
    with pytest.raises(PtxSyntaxError, match="loops nest deeper"):
        build(parse(nested(MAX_LOOP_DEPTH + 1)).functions["k"])


def test_a_loop_with_a_thousand_ways_to_continue_is_built():
    cfg = build(parse(".entry k() { .reg .pred p; top:" + "@p bra top; " * 1000 + "}").functions["k"])
    assert len(cfg.control_dependence[0]) == 1000 and cfg.post_dominator[0] == 1


def test_too_much_text_is_refused(monkeypatch):
    monkeypatch.setattr("simt.ptx.parser.MAX_TEXT_BYTES", 10)
    with pytest.raises(PtxSyntaxError, match="at most 10"):
        parse(" " * 11)
