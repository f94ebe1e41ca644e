"""The nbgrader edition: valid, the same bytes each time, in an order that runs from top to bottom, without widgets."""

import ast
import json
from pathlib import Path

import nbformat
import pytest

from grader.exercises import all_exercises
from grader.notebook.cells import marker_of
from grader.release.clearing import solved
from grader.release.jupyter_edition import FIND_COURSE, EditionError, notebook_of
from grader.release.names import definitions, references
from grader.release.static_cells import at_rest, imports_without_marimo, markdown_of, slider_values

ROOT = Path(__file__).resolve().parents[2]
SOLUTIONS = sorted((ROOT / "solutions").glob("*.py"))
HEAD = 'import marimo\n\n__generated_with = "0.25.2"\napp = marimo.App()\n\n\n'


@pytest.fixture(scope="module", params=SOLUTIONS, ids=lambda path: path.stem)
def edition(request):
    path = request.param
    return path.stem, nbformat.reads(notebook_of(path.read_text(), path.stem, ROOT / "assets"), as_version=4)


def made(*cells):
    text = HEAD + "\n\n\n".join(
        f"@app.cell\ndef _():\n    {cell.replace(chr(10), chr(10) + '    ')}\n    return" for cell in cells
    )
    return nbformat.reads(notebook_of(text + "\n", "99_made", ROOT / "assets"), as_version=4)


def test_every_exercise_of_the_lesson_has_an_answer_cell_and_a_test_cell(edition):
    lesson, notebook = edition
    wanted = {row.id for row in all_exercises() if row.lesson == lesson}
    tests = [cell.source.split()[2] for cell in notebook.cells if cell.source.startswith("# check: ")]
    assert {marker_of(cell.source) for cell in notebook.cells} - {""} == wanted == set(tests)


def test_points_are_those_of_the_exercises(edition):
    lesson, notebook = edition
    points = sum(cell.metadata.nbgrader["points"] for cell in notebook.cells if cell.source.startswith("# check: "))
    assert points == sum(
        row.points + sum(goal.points for goal in row.goals) for row in all_exercises() if row.lesson == lesson
    )


def test_each_cell_finds_its_names_above_it(edition):
    known = set()
    for cell in edition[1].cells:
        if cell.cell_type == "code":
            ast.parse(cell.source)
            assert references(cell.source) <= known | definitions(cell.source)
            known |= definitions(cell.source)


def test_nothing_of_marimo_is_left(edition):
    code = "\n".join(cell.source for cell in edition[1].cells if cell.cell_type == "code")
    assert "marimo" not in code and "mo." not in code.replace("simo.", "")
    assert not any(cell.source.count("///") for cell in edition[1].cells if cell.cell_type == "markdown")


def test_ids_are_unique_and_the_bytes_are_the_same_each_time():
    path = SOLUTIONS[0]
    one, other = (notebook_of(path.read_text(), path.stem, ROOT / "assets") for _ in range(2))
    assert one == other
    ids = [cell["id"] for cell in json.loads(one)["cells"]]
    assert len(ids) == len(set(ids))


def test_model_answer_of_a_question_is_inside_the_markers(edition):
    for cell in edition[1].cells:
        if cell.cell_type == "markdown" and cell.metadata.get("nbgrader"):
            assert cell.source.startswith("BEGIN SOLUTION\n") and cell.source.endswith("\nEND SOLUTION")


def test_chart_of_a_later_answer_moves_behind_its_test():
    look = 'picture = look("hello.double_it", double_it_src)\npicture'
    answer = '# exercise: hello.double_it\ndouble_it_src = "x"'
    cells = made(
        "from grader import check\nfrom grader.lesson_look import look",
        look,
        answer,
        'check("hello.double_it", double_it_src)',
    )
    assert [cell.source.split("\n")[0] for cell in cells.cells[3:]] == [
        "# exercise: hello.double_it", "# check: hello.double_it points=1", look.split("\n")[0]
    ]  # fmt: skip


def test_unknown_exercise_and_missing_drawing_are_named():
    with pytest.raises(EditionError, match="nowhere"):
        made('check("hello.nowhere", 1)')
    with pytest.raises(EditionError, match=r"no_such\.svg"):
        made('figure("no_such")')


def test_slider_stands_at_its_first_value():
    values = slider_values(["n = mo.ui.slider(1, 9, value=4)\nmo.hstack([n])", "other = 3"])
    assert at_rest("f(n.value, other)", values) == "f(4, other)"
    assert at_rest("mo.stat(n.value)", values) is None
    assert at_rest("f(f'{n.value} of it')", values) == "f('4 of it')"
    assert at_rest("f(f'{n.value} {other}')", values) == "f(f'{4} {other}')"
    assert at_rest("f(other)", values) == "f(other)"


def test_markdown_and_imports_are_told_from_other_cells():
    assert markdown_of('mo.md(r"""\n    # Title\n\n    /// details | More\n    text\n    ///\n    """)') == (
        "# Title\n\n<details><summary>More</summary>\n\ntext\n\n</details>"
    )
    assert markdown_of("mo.md(f'{x}')") is None and markdown_of("x = 1") is None
    assert imports_without_marimo("import marimo as mo\nfrom grader import check") == "from grader import check"
    assert imports_without_marimo("import numpy\nx = 1") is None


def answered(path):
    """The solved edition as a student would hand it in."""
    notebook = nbformat.reads(notebook_of(path.read_text(), path.stem, ROOT / "assets"), as_version=4)
    for cell in notebook.cells:
        cell.source = solved(cell.source) if cell.cell_type == "code" else cell.source
    return notebook


def test_solved_notebook_runs_in_jupyter_and_shows_the_card_and_drawings(tmp_path_factory):
    """The course is found above the notebook, every cell runs, and a test cell shows the verdict card alone."""
    from nbclient import NotebookClient
    from traitlets.config import Config

    notebook = answered(SOLUTIONS[0])
    folder = ROOT / "nbgrader" / "source" / SOLUTIONS[0].stem
    # Through files rather than ports, which another process may take before the kernel does.
    files = Config({"KernelManager": {"transport": "ipc", "ip": str(tmp_path_factory.mktemp("ipc") / "kernel")}})
    where = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=200, startup_timeout=200, resources=where, config=files).execute()
    [shown] = next(cell.outputs for cell in notebook.cells if cell.source.startswith("# check: hello.double_it"))
    assert 'data-status="pass"' in shown["data"]["text/html"] and "Passed" in shown["data"]["text/plain"]
    pages = [output["data"].get("text/html", "") for cell in notebook.cells for output in cell.get("outputs", ())]
    drawings = [page for page in pages if "<figure" in page]
    assert len(drawings) == 2 and any('class="ww-still"' in page for page in pages)
    assert all("<svg" in page for page in drawings) and not any("<script" in page for page in pages)


def test_nbgraders_validation_says_what_is_wrong_and_passes_what_is_right(tmp_path):
    from nbgrader.validator import Validator

    notebook = answered(SOLUTIONS[0])
    answer = next(cell for cell in notebook.cells if cell.source.startswith("# exercise: hello.double_it"))
    answer.source = answer.source.replace("2.0f *", "3.0f *")
    path = tmp_path / "handed_in.ipynb"
    # The course is found where the notebook lies.
    notebook.cells.insert(0, nbformat.v4.new_code_cell(f"import sys\nsys.path.insert(0, {str(ROOT)!r})"))
    nbformat.write(notebook, path)
    [failed] = Validator().validate(str(path))["failed"]
    assert failed["source"].startswith("# check: hello.double_it")
    assert "Wrong answer" in failed["error"] and max(map(len, failed["error"].splitlines())) <= 83


def test_setup_cell_says_what_to_do_where_the_course_is_not(tmp_path, monkeypatch):
    import importlib.util

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SystemExit, match="warpwise.zip"):
        exec(FIND_COURSE, {})


@pytest.mark.parametrize(
    "driver, group", [(None, ""), ((12, 4), ",gpu12"), ((13, 0), ",gpu")], ids=["no GPU", "Colab's T4", "newer"]
)
def test_setup_cell_installs_what_the_driver_takes(tmp_path, monkeypatch, driver, group):
    import importlib.util
    import subprocess
    import sys

    import course

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(course, "cuda_driver", lambda: driver)
    started = []
    monkeypatch.setattr(subprocess, "run", lambda words, check: started.append(words))
    (tmp_path / "warpwise.zip").touch()
    exec(FIND_COURSE, {})
    assert [words[1:4] for words in started] == [["-m", "zipfile", "-e"], ["-m", "pip", "install"]]
    assert started[1][-1] == f"./warpwise[simt,learn,jupyter{group}]"
