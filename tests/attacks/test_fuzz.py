"""Every reader of what a student or a jailed process wrote, on thousands of damaged inputs: an answer or its own error.

Each seed gives the same inputs on every machine. What a reader may raise is in its docstring; anything else is a crash
of the grading host.
"""

import json
import random
import re

import numpy as np
import pytest

from grader.answers import submit
from grader.compile import compile_text
from grader.exercises import exercise
from grader.model import Report, Submission, Unreadable
from grader.notebook import NotebookProblem, read_notebook
from grader.notebook.literals import LARGEST, LiteralProblem, evaluate, launch_config, launch_spec
from grader.policy import scan_source
from grader.ptx_policy import check_ptx
from grader.report.json_form import from_json, to_json
from grader.worker.wire import WireProblem, pack_result, pack_trace, unpack_failure, unpack_result, unpack_trace
from simt.diagnostics import Diagnostic
from tests.attacks.damage import ODD_VALUES, damaged_bytes, damaged_value
from tests.attacks.table import ATTACKS, HERE
from tests.grader.sample_reports import ALL
from tests.grader.test_worker import RESULT_ARGUMENTS, result, trace

MAP = exercise("selftest.map")
SEEDS = range(3)  # each a test; the number of inputs is in the test

seeded = pytest.mark.parametrize("seed", SEEDS)

# --- the source scan

TOKENS = (
    "#", "%:", "include", "<x>", '"x"', "/*", "*/", "//", "\\\n", "\n", " ", "\t", "\v", '"', "'", "a", "define F ",
    "__has_", "include", "R\"(", ')"', "\\", "#include", "(", "pragma once",
)  # fmt: skip


def live_includes(text):
    """Whether a compiler's first four phases meet an include, written apart from the scan: comments go before lines do."""
    text = text.replace("\\\n", "")
    out, at = [], 0
    while at < len(text):
        if text.startswith("/*", at):
            end = text.find("*/", at + 2)
            if end < 0:
                break  # an open comment: the compiler stops with an error
            out.append(" ")
            at = end + 2
        elif text.startswith("//", at):
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
        elif text.startswith('R"(', at):
            return None  # what is inside a raw string depends on splices; the scan need not be exact there
        elif text[at] in "\"'":
            end = at + 1
            while end < len(text) and text[end] not in (text[at], "\n"):
                end += 2 if text[end] == "\\" else 1
            out.append(text[at : end + 1])
            at = end + 1
        else:
            out.append(text[at])
            at += 1
    return any(re.match(r"[ \t\v\f]*(#|%:)[ \t\v\f]*include\b", line) for line in "".join(out).split("\n"))


@seeded
def test_no_include_that_is_live_gets_past_the_scan(seed):
    rng = random.Random(seed)
    found = 0
    for _ in range(2000):
        text = "".join(rng.choice(TOKENS) for _ in range(rng.randint(1, 24)))
        if live_includes(text):
            found += 1
            assert scan_source(text), repr(text)
    assert found > 20


@seeded
def test_the_scan_answers_about_any_text(seed):
    rng = random.Random(seed)
    texts = [attack.file.read_bytes() for attack in ATTACKS.values()]
    for _ in range(150):
        text = damaged_bytes(rng.choice(texts), rng).decode(errors="replace")
        assert all(isinstance(finding, Diagnostic) for finding in scan_source(text))
        assert isinstance(submit(MAP, text), (Submission, Unreadable))


# --- the PTX policy


@seeded
def test_the_policy_answers_about_any_ptx(seed):
    rng = random.Random(seed)
    names = (
        "c01_honest",
        "c03_honest_const_table",
        "c06_honest_atomic_ticket",
        "control_string_helper",
        "m10_uninit_shared",
    )
    built = [compile_text(ATTACKS[name].text, "solve", "sm_80") for name in names]
    for _ in range(120):
        ptx = damaged_bytes(rng.choice(built).ptx.encode(), rng).decode(errors="replace")
        assert all(isinstance(finding, Diagnostic) for finding in check_ptx(ptx, "solve", MAP.params, frozenset()))


# --- launch literals

PARTS = ("n", "m", "1", "0", "256", "2**3", "n", "ceil_div(", "min(", "max(", ")", "(", ",", "+", "-", "*", "//", "%", "/",
         "**", " ", "9" * 30, "True", "None", "1.5", "1e9", "'a'", "x.y", "[0]", "lambda: 0", "if", "else", "~", "@", "\0",
         "__import__('os')", "n:=1", "*n", "0x10", "1_0", "f'{n}'", "é")  # fmt: skip


@seeded
def test_an_expression_is_a_number_or_a_problem(seed):
    rng = random.Random(seed)
    numbers = 0
    for _ in range(3000):
        text = "".join(rng.choice(PARTS) for _ in range(rng.randint(1, 9)))
        try:
            value = evaluate(text, {"n": 1000, "m": 0})
        except LiteralProblem as problem:
            assert problem.message
        else:
            numbers += 1
            assert type(value) is int and abs(value) <= LARGEST
    assert numbers > 50


@seeded
def test_a_launch_is_a_launch_or_a_problem(seed):
    rng = random.Random(seed)
    good = {"grid": ["ceil_div(n, 256)", 1, 1], "block": 256, "shared_bytes": 0, "cluster": None}
    for _ in range(1500):
        value = damaged_value(good, rng) if rng.random() < 0.9 else rng.choice(ODD_VALUES)
        try:
            launch_config(launch_spec(value), {"n": 1000})
        except LiteralProblem as problem:
            assert problem.message


# --- notebooks

NOTEBOOK = '''import marimo

app = marimo.App()


@app.cell
def _(mo):
    # exercise: selftest.map
    map_src = r"""extern "C" __global__ void solve(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * x[i] + 1.0f;
    }"""
    map_launch = {"grid": "ceil_div(n, 256)", "block": 256}
    return map_launch, map_src


if __name__ == "__main__":
    app.run()
'''
CELL = NOTEBOOK.partition("def _(mo):\n")[2].partition("    return")[0]
JUPYTER = {
    "cells": [
        {"cell_type": "markdown", "metadata": {}, "source": ["# title\n", "text"]},
        {
            "cell_type": "code",
            "metadata": {},
            "outputs": [],
            "execution_count": None,
            "source": re.sub("(?m)^    ", "", CELL),
        },
    ],
    "metadata": {"kernelspec": {"name": "python3"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}


def read(path):
    try:
        notebook = read_notebook(path, (MAP,))
    except NotebookProblem as problem:
        assert problem.message
        return None
    (answer,) = notebook.answers.values()
    assert isinstance(answer, (Submission, Unreadable))
    return answer


def test_the_undamaged_notebooks_hold_the_same_answer(tmp_path):
    (tmp_path / "a.py").write_text(NOTEBOOK)
    (tmp_path / "a.ipynb").write_text(json.dumps(JUPYTER))
    first, second = read(tmp_path / "a.py"), read(tmp_path / "a.ipynb")
    assert isinstance(first, Submission) and first.digest == second.digest


@seeded
@pytest.mark.parametrize(("name", "data"), [("a.py", NOTEBOOK), ("a.ipynb", json.dumps(JUPYTER, indent=1))])
def test_a_damaged_notebook_is_read_or_refused(seed, name, data, tmp_path):
    rng = random.Random(seed)
    for _ in range(150):
        (tmp_path / name).write_bytes(damaged_bytes(data.encode(), rng))
        read(tmp_path / name)


@seeded
def test_a_notebook_of_odd_values_is_read_or_refused(seed, tmp_path):
    rng = random.Random(seed)
    for _ in range(100):
        (tmp_path / "a.ipynb").write_text(
            json.dumps(damaged_value(JUPYTER, rng)), encoding="utf-8", errors="surrogatepass"
        )
        read(tmp_path / "a.ipynb")


# --- reports


@seeded
def test_a_damaged_report_is_a_report_or_a_value_error(seed):
    rng = random.Random(seed)
    samples = [json.loads(json.dumps(to_json(make()))) for make, _ in ALL.values()]
    for _ in range(600):
        try:
            read_back = from_json(damaged_value(rng.choice(samples), rng))
        except ValueError:
            continue
        assert isinstance(read_back, Report)
        json.dumps(to_json(read_back))


# --- what a worker says


@seeded
def test_a_damaged_result_fits_or_is_refused(seed):
    rng = random.Random(seed)
    header, data = pack_result(result())
    buffers = {argument.name: argument.value for argument in RESULT_ARGUMENTS}
    for _ in range(800):
        damaged = (
            json.dumps(damaged_value(json.loads(header), rng)).encode()
            if rng.random() < 0.8
            else damaged_bytes(header, rng)
        )
        try:
            got = unpack_result((damaged, data[: rng.choice((len(data), 10))]), RESULT_ARGUMENTS)
        except WireProblem:
            continue
        assert all(np.shape(value) == np.shape(buffers[name]) for name, value in got.outputs.items())
        json.dumps([finding.to_json() for finding in got.diagnostics] + [got.printed]).encode()


@seeded
def test_a_damaged_round_is_refused_or_finite(seed):
    rng = random.Random(seed)
    header, data = pack_trace(trace())
    for _ in range(400):
        damaged = (
            json.dumps(damaged_value(json.loads(header), rng)).encode()
            if rng.random() < 0.8
            else damaged_bytes(header, rng)
        )
        try:
            got = unpack_trace((damaged, data))
        except WireProblem:
            continue
        assert got is None or np.isfinite(got.student_ns).all()


@seeded
def test_a_failure_is_told_whatever_it_says(seed):
    rng = random.Random(seed)
    for _ in range(300):
        value = damaged_value({"error": "MemoryError", "trace": "line 3"}, rng)
        unpack_failure((json.dumps(value).encode(),)).encode()


def test_the_tables_files_are_what_was_damaged():
    assert (HERE / "attacks.tsv").exists() and len(ATTACKS) > 150
