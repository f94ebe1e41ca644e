"""Scan and policy let the whole course through: every answer that a lesson accepts, and every one it is meant to judge."""

from pathlib import Path

import pytest

from grader.compile import BuildProblem, compile_text
from grader.exercises import all_exercises
from grader.model import KernelAnswer, Submission
from grader.notebook import read_notebook
from grader.notebook.source import canonical
from grader.policy import scan_source
from grader.ptx_policy import check_ptx

SOLUTIONS = Path(__file__).parents[2] / "solutions"
KERNELS = {row.id: row for row in all_exercises() if isinstance(row.answer, KernelAnswer) and row.lesson != "selftest"}


def texts():
    """(exercise id, where, text) of every solution and every wrong kernel of the course."""
    for path in sorted(SOLUTIONS.glob("[0-9]*.py")):
        for name, answer in read_notebook(path).answers.items():
            if name in KERNELS and isinstance(answer, Submission):
                yield name, path.name, answer.source
    for path in sorted((SOLUTIONS / "mutants").glob("*/*.cu")):
        if path.parent.name in KERNELS:
            yield path.parent.name, path.name, canonical(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(("name", "where", "text"), list(texts()), ids=lambda value: None if "\n" in value else value)
def test_a_text_of_the_course_passes_scan_and_policy(name, where, text):
    row = KERNELS[name]
    assert scan_source(text) == ()
    arch = max(["sm_80", *(need for need in row.requires if need.startswith("sm_"))], key=lambda a: int(a[3:]))
    built = compile_text(text, row.answer.kernel, arch)
    assert not isinstance(built, BuildProblem), built.diagnostics
    assert check_ptx(built.ptx, built.kernel, row.params, row.policy) == ()


def test_every_kernel_exercise_is_among_them():
    assert {name for name, where, _ in texts() if where.endswith(".py")} == set(KERNELS)
