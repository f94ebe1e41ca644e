"""Lessons in a real browser: they open, a student types the answer, the card turns green, the file on disk has changed.

No request may leave the machine. Each test has a server of its own.
"""

import json
import subprocess
import sys

import pytest

from grader.exercises import all_exercises
from grader.model import KernelAnswer
from grader.notebook.cells import marker_of
from grader.release.clearing import solved
from grader.release.marimo_form import parse
from tests.browser.notebook_page import ROOT

LESSONS = sorted((ROOT / "lessons").glob("[0-9]*.py"))


def ids(path):
    return path.stem


def answer_cells(edition, lesson):
    """Exercise id → code of its answer cell in `lessons` or `solutions`, as a student would have typed it."""
    notebook = parse((ROOT / edition / lesson.name).read_text(encoding="utf-8"))
    return {marker_of(cell.code): solved(cell.code) for cell in notebook.cells if marker_of(cell.code)}


def exercises_of(lesson):
    return [row for row in all_exercises() if row.lesson == lesson.stem]


@pytest.mark.parametrize("lesson", LESSONS, ids=ids)
def test_lesson_opens_with_a_verdict_for_every_exercise(lesson, open_notebook):
    page = open_notebook(lesson.read_text(encoding="utf-8"), lesson.name)
    for row in exercises_of(lesson):
        card = page.card(row.id).first
        card.wait_for(state="attached")
        status = card.get_attribute("data-status")
        assert status not in ("pass", "internal_error"), f"the starter of {row.id}: {card.inner_text()}"
        assert card.locator(".ww-next").inner_text().strip(), f"{row.id} does not say what to do next"
    assert page.page.locator(".marimo-error, [data-error]").count() == 0
    assert page.errors == []
    assert page.foreign == []


@pytest.mark.parametrize("lesson", LESSONS, ids=ids)
def test_typed_answers_pass_and_are_in_the_file(lesson, open_notebook):
    page = open_notebook(lesson.read_text(encoding="utf-8"), lesson.name)
    answers = answer_cells("solutions", lesson)
    rows = exercises_of(lesson)
    for row in rows:
        page.card(row.id).first.wait_for(state="attached")
    for row in rows:
        page.write_cell(page.answer_editor(row.id), answers[row.id])
        page.wait_for(row.id, "pass")
    page.wait_for_file(lambda text: all(answers_in(text).get(row.id) == answers[row.id] for row in rows))
    assert page.foreign == []
    # The collected file is judged like the cell was.
    command = [sys.executable, "-m", "grader", "check", str(page.notebook), "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240)
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, done.stderr
    assert {report["exercise_id"]: report["passed"] for report in reports} == {row.id: True for row in rows}


def answers_in(text):
    return {marker_of(cell.code): cell.code for cell in parse(text).cells if marker_of(cell.code)}


@pytest.mark.parametrize("lesson", LESSONS, ids=ids)
def test_lesson_saved_by_marimo_is_byte_for_byte_the_release(lesson, open_notebook):
    text = lesson.read_text(encoding="utf-8")
    page = open_notebook(text, lesson.name)
    row = next(row for row in exercises_of(lesson) if isinstance(row.answer, KernelAnswer))
    starter = answer_cells("lessons", lesson)[row.id]
    page.card(row.id).first.wait_for(state="attached")
    editor = page.answer_editor(row.id)
    page.write_cell(editor, starter + "\n# a note of mine")
    page.wait_for_file(lambda saved: "# a note of mine" in saved)
    page.write_cell(page.answer_editor(row.id), starter)
    saved = page.wait_for_file(lambda saved: "# a note of mine" not in saved)
    assert saved == text


def test_fault_is_shown_at_its_line_and_gone_after_the_repair(open_notebook):
    lesson = next(path for path in LESSONS if path.stem == "00_start_here")
    page = open_notebook(lesson.read_text(encoding="utf-8"), lesson.name)
    answer = answer_cells("solutions", lesson)["hello.double_it"]
    page.card("hello.double_it").first.wait_for(state="attached")
    page.write_cell(page.answer_editor("hello.double_it"), answer.replace("if (i < n) ", ""))
    card = page.wait_for("hello.double_it", "memory_fault")
    assert card.locator(".ww-mark.ww-error").count() >= 1
    assert "y[i] = 2.0f * x[i]" in card.locator(".ww-mark.ww-error").first.inner_text()
    page.write_cell(page.answer_editor("hello.double_it"), answer)
    card = page.wait_for("hello.double_it", "pass")
    assert card.locator(".ww-mark").count() == 0
    assert card.get_attribute("data-points") == card.get_attribute("data-max-points")


def test_python_that_does_not_parse_is_kept_and_repaired(open_notebook):
    lesson = next(path for path in LESSONS if path.stem == "00_start_here")
    page = open_notebook(lesson.read_text(encoding="utf-8"), lesson.name)
    answer = answer_cells("solutions", lesson)["hello.double_it"]
    page.card("hello.double_it").first.wait_for(state="attached")
    page.write_cell(page.answer_editor("hello.double_it"), answer.rstrip().removesuffix('"""'))
    page.wait_for_file(lambda text: "app._unparsable_cell" in text)
    page.write_cell(page.answer_editor("hello.double_it"), answer)
    page.wait_for("hello.double_it", "pass")
    page.wait_for_file(lambda text: "app._unparsable_cell" not in text)


def test_folds_of_the_card_open_by_keyboard(open_notebook):
    lesson = next(path for path in LESSONS if path.stem == "00_start_here")
    page = open_notebook(lesson.read_text(encoding="utf-8"), lesson.name)
    card = page.card("hello.double_it").first
    card.wait_for(state="attached")
    fold = card.locator("details").first
    summary = fold.locator("summary").first
    summary.scroll_into_view_if_needed()
    summary.focus()
    page.page.keyboard.press("Space")  # marimo takes Enter for itself: it goes to the cell's editor
    assert fold.evaluate("element => element.open")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_card_is_light_or_dark_as_the_operating_system_is(scheme, open_notebook):
    lesson = next(path for path in LESSONS if path.stem == "00_start_here")
    page = open_notebook(lesson.read_text(encoding="utf-8"), lesson.name, color_scheme=scheme)
    card = page.card("hello.double_it").first
    card.wait_for(state="attached")
    red, green, blue = card.evaluate(
        "element => getComputedStyle(element).backgroundColor.match(/[0-9.]+/g).slice(0, 3).map(Number)"
    )
    assert (red + green + blue < 150) if scheme == "dark" else (red + green + blue > 700)
