"""Literals and size expressions: what is read, and that nothing is ever run to read it."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.notebook.literals import LiteralProblem, evaluate, launch_config, launch_spec, limit_value, read_literal
from simt.launch import Dim3


def literal(text):
    return read_literal(ast.parse(text, mode="eval").body)


@pytest.mark.parametrize(
    "text", ['"abc"', "-3", "2.5", "True", "None", "(1, 'n // 2')", "[1, 2]", '{"grid": (1, 2), "block": 3}', "'a' 'b'"]
)
def test_a_literal_is_its_value(text):
    assert literal(text) == ast.literal_eval(text)


def test_an_f_string_without_fields_is_the_string_it_is():
    assert literal('f"grid {{1}}"') == "grid {1}"


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('f"block {TPB}"', "f-string"),
        ('"a" + "b"', "joins"),
        ("SOURCE", "`SOURCE`"),
        ('"a".replace("a", "b")', "call"),
        ("9**9**9", "computes"),
        ("[x for x in range(3)]", "ListComp"),
        ("{'a': 1, 'a': 2}", "twice"),
        ("{1: 2}", "not a string"),
        ("{**x}", "`**`"),
        ("[" * 30 + "]" * 30, "deep"),
        ("1j", "no literal"),
        ("b'bytes'", "no literal"),
    ],
)
def test_anything_else_says_what_to_write_instead(text, word):
    with pytest.raises(LiteralProblem) as caught:
        literal(text)
    assert word in caught.value.message and caught.value.help


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (3, "a dict"),
        ({"grid": 1}, "no 'block'"),
        ({"grid": 1, "block": 1, "smem": 3}, "no key 'smem'"),
        ({"grid": True, "block": 1}, "True (bool)"),
        ({"grid": 1.0, "block": 1}, "1.0 (float)"),
        ({"grid": (1, 1, 1, 1), "block": 1}, "4 dimensions"),
        ({"grid": (), "block": 1}, "0 dimensions"),
        ({"grid": 1, "block": None}, "None"),
    ],
)
def test_a_launch_of_another_shape_is_refused(value, word):
    with pytest.raises(LiteralProblem) as caught:
        launch_spec(value)
    assert word in caught.value.message


def test_a_launch_is_worked_out_over_the_sizes_of_a_case():
    spec = launch_spec({"grid": ["ceil_div(n, 32)", "max(1, m // 8)"], "block": (32, 8), "shared_bytes": "4 * 32 * 8"})
    config = launch_config(spec, {"n": 100, "m": 17})
    assert (config.grid, config.block, config.shared_bytes) == (Dim3(4, 2), Dim3(32, 8), 1024)
    assert config.max_dynamic_shared is None
    assert launch_config(launch_spec({"grid": 1, "block": 1, "shared_bytes": 65536}), {}).max_dynamic_shared == 65536


@pytest.mark.parametrize(
    "text",
    [
        "2**3", "n ** 2", "1.5", "True", "n / 2", "m", "__import__('os')", "n.real", "[1]", "min()", "ceil_div(1)", "n//0",
        "n % 0", "ceil_div(n, 0)", "(lambda: 1)()", "n if n else 1", "n < 3", "max(n, key=n)", "'n'", "", "1 +", "n\0",
        "9" * 150, "(" * 150 + "1" + ")" * 150, "1+" * 99 + "1", "n " * 150, "4611686018427387904 * 4",
    ],
)  # fmt: skip
def test_an_expression_off_the_list_is_refused(text):
    with pytest.raises(LiteralProblem):
        evaluate(text, {"n": 7})


def test_a_goal_limit_may_also_divide():
    assert limit_value("2 * m * n / 16 * 1.1", {"m": 4, "n": 8}) == pytest.approx(4.4)
    assert limit_value(3, {}) == 3.0


EXPRESSIONS = st.recursive(
    st.sampled_from(["n", "m", "1", "2", "31", "256"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "//", "%"]), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(st.sampled_from(["min", "max"]), inner, inner).map(lambda t: f"{t[0]}({t[1]}, {t[2]})"),
    ),
    max_leaves=8,
)


@given(EXPRESSIONS, st.integers(0, 5000), st.integers(0, 5000))
def test_an_accepted_expression_means_what_python_means(text, n, m):
    try:
        expected = eval(text, {"__builtins__": {}}, {"n": n, "m": m, "min": min, "max": max})
    except ZeroDivisionError:
        expected = None
    try:
        assert evaluate(text, {"n": n, "m": m}) == expected
    except LiteralProblem:
        assert expected is None or len(text) > 200 or abs(expected) > 2**31


@given(st.text(max_size=60))
def test_any_text_is_a_value_or_a_problem(text):
    try:
        assert type(evaluate(text, {"n": 3})) is int
    except LiteralProblem as problem:
        assert problem.message
