"""Proves the course's exercises: the starter fails, the solution passes, each wrong kernel is caught under its name."""

import importlib.util
import json
import re
from functools import cache
from pathlib import Path

import pytest

from grader.answers import submit
from grader.exercises import all_exercises, exercise
from grader.model import KernelAnswer, LaunchAnswer, Role, ValueAnswer, Verdict
from grader.notebook import read_notebook
from grader.pipeline import check_submission
from grader.release.lessons import lesson_of
from grader.values import seal

ROOT = Path(__file__).resolve().parents[1]
SOLUTIONS = ROOT / "solutions"
LESSONS = sorted(SOLUTIONS.glob("[0-9]*.py"))
COURSE = [row for row in all_exercises() if row.lesson != "selftest"]
WITH_KERNEL = [row for row in COURSE if isinstance(row.answer, KernelAnswer)]
WITH_FAULTS = [row for row in COURSE if not isinstance(row.answer, ValueAnswer)]
WITH_GOALS = [row for row in COURSE if row.goals]
MUTANTS = sorted((SOLUTIONS / "mutants").glob("*/*.*"))
PARTS = ("Why", "Play", "Predict", "Write", "Claim check", "Reflect", "Where next")
MOST_NEW_LINES = 40

by_id = pytest.mark.parametrize("row", COURSE, ids=lambda row: row.id)


@cache
def answers(path):
    """The answers of a notebook by exercise id, read as a collected file is."""
    return read_notebook(path).answers


def solution(row):
    return answers(SOLUTIONS / f"{row.lesson}.py")[row.id]


def named(row, report):
    """Names of the exercise's faults that stand at the start of a finding's help."""
    return {fault.name for fault in row.faults for d in report.diagnostics if f"{fault.name}: " in d.help}


@by_id
def test_solution_passes(row):
    report = check_submission(solution(row))
    assert report.passed, (report.message, report.diagnostics, report.goals)
    assert report.score == report.max_score > 0
    assert [finding for finding in report.diagnostics if finding.severity != "advice"] == []


@pytest.fixture(scope="session")
def starters(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lessons")
    for path in LESSONS:
        (folder / path.name).write_text(lesson_of(path.read_text(encoding="utf-8")), encoding="utf-8")
    return folder


@by_id
def test_starter_does_not_pass_and_says_what_to_do(row, starters):
    report = check_submission(answers(starters / f"{row.lesson}.py")[row.id])
    assert not report.passed
    assert report.verdict not in (Verdict.INTERNAL_ERROR, Verdict.BUILD_FAILED, Verdict.NOT_SUPPORTED)
    said = [report.message, *(d.help for d in report.diagnostics), *(g.question for g in report.goals)]
    assert any(said)


@pytest.mark.parametrize("path", MUTANTS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_mutant_is_caught_under_its_name(path):
    row = exercise(path.parent.name)
    report = check_submission(mutant(row, path))
    assert report.verdict not in (Verdict.PASS, Verdict.INTERNAL_ERROR, Verdict.BUILD_FAILED)
    assert named(row, report) == {fault_of(path)}, [(d.check, d.message, d.help) for d in report.diagnostics]


def fault_of(path):
    """`guard-off-by-one` for guard-off-by-one_2.cu."""
    return re.sub(r"_\d+$", "", path.stem)


def mutant(row, path):
    text = path.read_text(encoding="utf-8")
    return submit(row, "", json.loads(text)) if path.suffix == ".json" else submit(row, text)


@pytest.mark.parametrize("row", WITH_FAULTS, ids=lambda row: row.id)
def test_three_faults_each_written_in_two_ways(row):
    written = [fault_of(path) for path in MUTANTS if path.parent.name == row.id]
    faults = {fault.name for fault in row.faults}
    assert len(faults) >= 3
    assert set(written) == faults
    assert all(written.count(name) >= 2 for name in faults)
    assert all(fault.says for fault in row.faults)


def test_every_mutant_belongs_to_an_exercise():
    assert {path.parent.name for path in MUTANTS} <= {row.id for row in WITH_FAULTS}


@pytest.mark.parametrize("row", WITH_GOALS, ids=lambda row: row.id)
def test_naive_answer_is_right_and_misses_a_goal(row):
    text = (SOLUTIONS / "naive" / f"{row.id}.cu").read_text(encoding="utf-8")
    report = check_submission(submit(row, text))
    assert report.verdict is Verdict.PASS, report.diagnostics
    assert not report.passed
    assert report.score < report.max_score
    assert all(goal.question and goal.why for goal in row.goals)


@by_id
def test_three_hints(row):
    assert len(row.hints) == 3 and len(set(row.hints)) == 3
    assert "?" in row.hints[0]


@pytest.mark.parametrize("row", WITH_FAULTS, ids=lambda row: row.id)
def test_sizes_are_awkward(row):
    sizes = [case.sizes for case in row.cases]
    values = {value for case in sizes for value in case.values()}
    assert {1, 31, 32, 33} <= values
    assert any(value > 33 and all(value % d for d in range(2, int(value**0.5) + 1)) for value in values)
    lengths = [[v for k, v in case.items() if k in ("width", "height", "m", "n", "k")] for case in sizes]
    assert any(len(set(case)) > 1 for case in lengths) or all(len(case) == 1 for case in lengths)
    assert any(case.hidden for case in row.cases)
    assert sum(case.measured for case in row.cases) == 1


@pytest.mark.parametrize("row", WITH_FAULTS, ids=lambda row: row.id)
def test_every_output_has_a_derived_tolerance(row):
    outputs = {param.name for param in row.params if param.role in (Role.OUT, Role.INOUT)}
    assert set(row.tolerance) == outputs
    assert all(len(budget.why) > 20 for budget in row.tolerance.values())


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_core_exercises_need_few_new_lines(path):
    cells = re.split(r"(?m)^@app\.", path.read_text(encoding="utf-8"))
    core = [row.id for row in COURSE if row.lesson == path.stem and row.core]
    written = [new_lines(cell) for cell in cells for row_id in core if f"# exercise: {row_id}\n" in cell]
    assert len(written) == len(core)
    assert sum(written) <= MOST_NEW_LINES


def new_lines(cell):
    """Lines of the solution blocks in a cell."""
    blocks = re.findall(r"BEGIN SOLUTION\n(.*?)\n\s*(?://|#) (?:STARTER|END SOLUTION)", cell, re.DOTALL)
    return sum(bool(line.strip()) for block in blocks for line in block.split("\n"))


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_lesson_has_its_parts_in_order(path):
    headings = re.findall(r"(?m)^ *#{2,3} (.+)$", path.read_text(encoding="utf-8"))
    places = [next((i for i, heading in enumerate(headings) if heading.startswith(part)), None) for part in PARTS]
    assert None not in places, dict(zip(PARTS, places))
    assert places == sorted(places)


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_each_exercise_of_a_lesson_has_its_cells(path):
    text = path.read_text(encoding="utf-8")
    for row in (row for row in COURSE if row.lesson == path.stem):
        call = "predict" if isinstance(row.answer, ValueAnswer) else "check"
        assert text.count(f"# exercise: {row.id}\n") == 1
        assert text.count(f'{call}("{row.id}", ') == 1


@pytest.mark.parametrize("row", [r for r in COURSE if isinstance(r.answer, ValueAnswer)], ids=lambda row: row.id)
def test_prediction_of_the_solution_is_sealed_and_each_question_is_explained(row):
    values = solution(row).values
    assert values["seal"] == seal(row.id, values["answers"], values["typed"])
    assert all(question.explain for question in row.answer.questions)


@pytest.mark.parametrize("row", [r for r in COURSE if isinstance(r.answer, LaunchAnswer)], ids=lambda row: row.id)
def test_given_kernels_stand_in_the_lesson_word_for_word(row):
    lesson = re.sub(r"\s+", " ", (SOLUTIONS / f"{row.lesson}.py").read_text(encoding="utf-8"))
    for text in row.answer.kernels.values():
        body = text.split("__global__", 1)[1]
        assert re.sub(r"\s+", " ", body).strip() in lesson


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_solved_lesson_runs_with_its_widgets(path):
    """Every cell runs, every check passes, and every picture is one of the student's kernel."""
    from grader.lesson import Checked
    from grader.lesson_look import Look

    spec = importlib.util.spec_from_file_location(f"solved_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    outputs, names = module.app.run()
    checked = [output for output in outputs if isinstance(output, Checked)]
    assert len(checked) == sum(row.lesson == path.stem for row in COURSE)
    assert all(output.passed for output in checked)
    looks = [value for value in names.values() if isinstance(value, Look)]
    assert looks and not [look.problem for look in looks if look.problem]
