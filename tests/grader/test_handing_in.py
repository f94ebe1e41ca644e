"""`submit`: answers of a marimo lesson in the released notebook, read back as the same answers, nothing lost."""

import json
import shutil
from pathlib import Path

import pytest

from grader.cli import main
from grader.handing_in import HandInProblem, put_answers
from grader.notebook import read_notebook
from grader.release.jupyter_edition import notebook_of

ROOT = Path(__file__).resolve().parents[2]
LESSON = "01_thread_mapping"


@pytest.fixture
def home(tmp_path):
    """A folder with a solved lesson and a notebook of the lesson's starters."""
    solution, starter = ((ROOT / folder / f"{LESSON}.py").read_text() for folder in ("solutions", "lessons"))
    (tmp_path / f"{LESSON}.py").write_text(solution)
    (tmp_path / f"{LESSON}.ipynb").write_text(notebook_of(starter, LESSON, ROOT / "assets"))
    return tmp_path


def digests(path):
    return {name: getattr(answer, "digest", None) for name, answer in read_notebook(path).answers.items()}


def test_notebook_holds_the_same_answers(home):
    lesson, notebook = home / f"{LESSON}.py", home / f"{LESSON}.ipynb"
    before = notebook.read_bytes()
    done = put_answers(lesson, notebook)
    assert digests(notebook) == digests(lesson) and None not in digests(lesson).values()
    assert set(done.answered) == set(digests(lesson)) and not done.missing and not done.unreadable
    assert done.kept.read_bytes() == before


def test_second_time_keeps_the_first_copy(home):
    lesson, notebook = home / f"{LESSON}.py", home / f"{LESSON}.ipynb"
    first, second = (put_answers(lesson, notebook).kept for _ in range(2))
    assert first != second and first.exists() and second.exists()


def test_broken_answer_goes_along_as_it_is_and_is_named(home):
    lesson, notebook = home / f"{LESSON}.py", home / f"{LESSON}.ipynb"
    lesson.write_text(lesson.read_text().replace('map1d_src = r"""', 'map1d_src = "" + r"""'))
    done = put_answers(lesson, notebook)
    assert set(done.unreadable) == {"thread_mapping.map1d"} and "literal" in done.unreadable["thread_mapping.map1d"]
    assert main(["submit", str(lesson)]) == 1


def test_notebook_of_another_lesson_is_refused_and_untouched(home):
    notebook = home / "other.ipynb"
    solution = (ROOT / "solutions" / "00_start_here.py").read_text()
    notebook.write_text(notebook_of(solution, "00_start_here", ROOT / "assets"))
    before = notebook.read_bytes()
    with pytest.raises(HandInProblem, match="no cell for any answer"):
        put_answers(home / f"{LESSON}.py", notebook)
    assert notebook.read_bytes() == before and len(list(home.iterdir())) == 3


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"cells": 3}', "\x00"])
def test_no_notebook_is_refused(home, text):
    notebook = home / f"{LESSON}.ipynb"
    notebook.write_text(text)
    assert main(["submit", str(home / f"{LESSON}.py")]) == 2
    assert notebook.read_text() == text


def test_command_finds_the_notebook_in_the_assignments_folder(home, capsys):
    (home / LESSON).mkdir()
    shutil.move(home / f"{LESSON}.ipynb", home / LESSON / f"{LESSON}.ipynb")
    assert main(["submit", str(home / f"{LESSON}.py"), "--json"]) == 0
    line = json.loads(capsys.readouterr().out)
    assert line["notebook"].endswith(f"{LESSON}/{LESSON}.ipynb") and len(line["answered"]) == 6


def test_command_says_where_it_looked(home, capsys):
    (home / f"{LESSON}.ipynb").unlink()
    assert main(["submit", str(home / f"{LESSON}.py")]) == 2
    assert "--into" in capsys.readouterr().err
