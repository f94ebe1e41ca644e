"""What lessons call: `check`, `predict`, `hint`, `device`, and the lazy package that gives them."""

import subprocess
import sys
from pathlib import Path

import pytest

import grader
from grader import check, hint, predict
from grader.exercises import UnknownExercise, all_exercises
from grader.model import KernelAnswer, LaunchAnswer, ValueAnswer

ROOT = Path(__file__).resolve().parents[2]


def row_with(kind):
    return next(row for row in all_exercises() if isinstance(row.answer, kind) and row.lesson != "selftest")


def test_package_loads_nothing_heavy_by_itself():
    script = (
        "import sys, grader; heavy = {'altair', 'marimo', 'numpy', 'rich'} & set(sys.modules); assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True)


def test_package_names_what_lessons_use():
    assert {"check", "chart", "hint", "predict", "device"} <= set(dir(grader))
    with pytest.raises(AttributeError, match="lessons use"):
        grader.chek  # noqa: B018


def test_checked_answer_is_html_for_a_notebook_and_text_for_a_console():
    row = row_with(ValueAnswer)
    checked = predict(row.id, {"answers": {}})
    kind, html = checked._mime_()
    assert kind == "text/html" and html == checked._repr_html_()
    assert f'data-exercise="{row.id}"' in html
    assert row.id in repr(checked) and not checked.passed


@pytest.mark.parametrize("answer", [None, 3, [], "text", {"answers": None}, {}])
@pytest.mark.parametrize("kind", [KernelAnswer, LaunchAnswer, ValueAnswer])
def test_answer_of_any_kind_is_a_verdict_and_never_an_exception(kind, answer):
    if kind is KernelAnswer and answer == "text":
        answer = "\0"
    checked = check(row_with(kind).id, answer)
    assert not checked.passed
    assert checked.report.verdict != "internal_error", checked.report.message


def test_jupyter_shows_the_card_alone(monkeypatch):
    """rich would put its own output into a cell where it finds IPython's."""
    shown = []
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    monkeypatch.setattr("rich.jupyter.display", lambda *words: shown.append(words))
    assert "has no answer yet" in repr(predict(row_with(ValueAnswer).id, {"answers": {}})) and not shown


def test_under_nbgraders_validation_a_miss_is_an_error_and_a_pass_is_silent(monkeypatch, capsys):
    missed = predict(row_with(ValueAnswer).id, {"answers": {}})
    with pytest.raises(NotImplementedError):
        missed._ipython_display_()
    monkeypatch.setenv("NBGRADER_VALIDATING", "1")
    missed._ipython_display_()
    assert "has no answer yet" in capsys.readouterr().err
    from grader.lesson import Checked

    monkeypatch.setattr(Checked, "passed", True)
    missed._ipython_display_()
    assert capsys.readouterr() == ("", "")


def test_unknown_exercise_is_the_lessons_mistake():
    with pytest.raises(UnknownExercise, match="did you mean"):
        check("hello.double_itt", "")


def test_hints_are_folded_into_each_other():
    row = next(row for row in all_exercises() if len(row.hints) == 3)
    html = hint(row.id)._repr_html_()
    assert html.count("<details>") == 3
    assert row.id in repr(hint(row.id))


def test_nothing_is_recorded_outside_a_notebook(tmp_path, monkeypatch):
    monkeypatch.setenv("WARPWISE_PROGRESS", str(tmp_path / "progress.json"))
    predict(row_with(ValueAnswer).id, {"answers": {}})
    assert not (tmp_path / "progress.json").exists()
