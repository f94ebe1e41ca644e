"""From an edit to its verdict: every case and check of an exercise, in a warm worker, on a text it has not seen.

Run by hand: `pytest tests/bench/test_bench_verdict.py --benchmark-only`. The goal is a median of half a second on two
laptop cores; the figures depend on the machine, so nothing here asserts a time.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import pytest

from grader.exercises import all_exercises
from grader.model import KernelAnswer, LaunchAnswer, Verdict
from grader.notebook import read_notebook
from grader.pipeline import check_submission
from grader.worker.host import warm_device

SOLUTIONS = Path(__file__).resolve().parents[2] / "solutions"
LESSONS = {"01_thread_mapping", "04_tiling"}
ROWS = [row for row in all_exercises() if row.lesson in LESSONS and isinstance(row.answer, KernelAnswer | LaunchAnswer)]


@pytest.fixture(scope="module")
def device():
    found = warm_device("simulator")
    yield found
    found.close()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_edit_to_verdict(benchmark, device, row):
    solved = read_notebook(SOLUTIONS / f"{row.lesson}.py").answers[row.id]
    number = itertools.count()

    def edit_and_check():
        edited = f"{solved.source}\n// edit {next(number)}\n" if solved.source else solved.source
        return check_submission(replace(solved, source=edited), device)

    report = benchmark.pedantic(edit_and_check, warmup_rounds=1, rounds=5)
    assert report.verdict is Verdict.PASS
