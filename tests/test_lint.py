"""Lint and types, so that the test command alone proves the project."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MOST_LINES = {"file": 400, "function": 40}  # STYLE.md; a docstring is no part of a function's length
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef


def run(*command):
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_ruff_finds_nothing():
    run("ruff", "check", "--output-format", "concise")


def test_ruff_would_format_nothing():
    run("ruff", "format", "--check", "--output-format", "concise")


def test_types_agree():
    run("mypy", "--no-error-summary")


@pytest.mark.parametrize("edition", ["lessons", "solutions"])
def test_notebooks_are_in_order_for_marimo(edition):
    notebooks = sorted(str(path) for path in (ROOT / edition).glob("[0-9]*.py") if "." not in path.stem)
    assert notebooks
    run("marimo", "check", "--strict", *notebooks)


def sources():
    """Our own Python; lessons and hand-ins of the tests are notebooks, whose length is their prose."""
    folders = [path for name in ("grader", "simt", "tests", "nbgrader") for path in (ROOT / name).rglob("*.py")]
    return [*ROOT.glob("course*.py"), *(path for path in folders if "classroom" not in path.parts)]


def length(function):
    """Lines from `def` to the end, without the docstring."""
    lines = function.end_lineno - function.lineno + 1
    if ast.get_docstring(function) is not None:
        lines -= function.body[0].end_lineno - function.body[0].lineno + 1
    return lines


def test_no_file_and_no_function_is_long():
    long = []
    for path in sources():
        text, name = path.read_text(encoding="utf-8"), path.relative_to(ROOT)
        if text.count("\n") > MOST_LINES["file"]:
            long.append(f"{name}: {text.count(chr(10))} lines")
        functions = (node for node in ast.walk(ast.parse(text)) if isinstance(node, FUNCTIONS))
        long += [f"{name}: {f.name}, {length(f)} lines" for f in functions if length(f) > MOST_LINES["function"]]
    assert not long, f"find the second idea in these and give it a name of its own: {long}"
