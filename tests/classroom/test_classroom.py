"""Notebook-level submissions through the whole path: one broken answer costs no other."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from grader.devices import CASE_BUDGET
from grader.hidden import NO_SEEDS
from grader.model import Unreadable, Verdict
from grader.notebook import read_notebook
from grader.packs import load_pack
from grader.pipeline import grade, unreadable_report
from grader.worker.host import WorkerDevice

HERE = Path(__file__).parent
FOLDERS = sorted(path.parent for path in HERE.glob("*/case.json"))
ROWS = {row.id.split(".")[1]: row for row in load_pack(HERE / "pack")}


@pytest.fixture(scope="module")
def device():
    worker = WorkerDevice("simulator")
    yield worker
    worker.close()


def outcomes(folder, device):
    """(notebook, {variable: report}) of one submission."""
    plain = json.loads((folder / "case.json").read_text())
    rows = {variable: ROWS[name] for variable, name in plain["exercises"].items()}
    fixture = {variable: row.id for variable, row in rows.items()}
    notebook = read_notebook(folder / "submission.py", tuple(rows.values()), fixture)
    budget = replace(CASE_BUDGET, warp_instructions=4_000_000)  # ends an endless kernel by what it did, not by a clock
    reports = {}
    for variable, row in rows.items():
        answer = notebook.answers[row.id]
        unreadable = isinstance(answer, Unreadable)
        reports[variable] = (
            unreadable_report(answer, row) if unreadable else grade(answer, row, device, hidden=NO_SEEDS, budget=budget)
        )
    return notebook, reports


def by_name(text):
    return next(folder for folder in FOLDERS if text in folder.name)


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("duplicated", Verdict.UNREADABLE), ("endless", Verdict.TIMEOUT), ("not-literal", Verdict.UNREADABLE),
        ("compile-error", Verdict.BUILD_FAILED),
    ],
)  # fmt: skip
def test_one_broken_answer_costs_no_other(device, name, verdict):
    _, reports = outcomes(by_name(name), device)
    assert reports["ex1"].verdict is verdict, reports["ex1"]
    assert reports["ex2"].verdict is Verdict.PASS, reports["ex2"]


def test_a_duplicate_names_the_lines_of_both(device):
    _, reports = outcomes(by_name("duplicated"), device)
    assert "line 8 and line 19" in reports["ex1"].message


def test_an_endless_kernel_names_the_line_of_its_loop(device):
    _, reports = outcomes(by_name("endless"), device)
    assert reports["ex1"].diagnostics[0].line == 3


def test_a_text_that_is_no_literal_says_how_to_write_it(device):
    _, reports = outcomes(by_name("not-literal"), device)
    assert "f-string" in reports["ex1"].message and "without running it" in reports["ex1"].message


def test_a_compile_error_names_the_line_in_the_cell(device):
    _, reports = outcomes(by_name("compile-error"), device)
    assert reports["ex1"].diagnostics[0].line == 2 and "flaot" in reports["ex1"].diagnostics[0].message


def test_an_emptied_notebook_is_missing_its_answers_and_suspicious(device):
    notebook, reports = outcomes(by_name("emptied"), device)
    assert "earlier submission should stand" in notebook.suspicious
    assert all("missing" in report.message for report in reports.values())


def test_every_public_submission_has_a_test():
    assert len(FOLDERS) == 5
