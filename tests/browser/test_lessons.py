"""Lessons in a real browser: they open, a student types the answer, the card turns green, the file on disk has changed.

No request may leave the machine. Each test that types has a server of its own.
"""

import json
import subprocess
import sys

import pytest

from grader.exercises import all_exercises
from grader.notebook.cells import marker_of
from grader.release.clearing import solved
from grader.release.marimo_form import NotebookFormError, parse
from tests.browser.notebook_page import ROOT

# On a machine that does other things as well a page can take minutes.
pytestmark = pytest.mark.timeout(1200)

LESSONS = sorted((ROOT / "lessons").glob("[0-9]*.py"))
START = next(path for path in LESSONS if path.stem == "00_start_here")
# What stands further right than the card's edge and cannot be scrolled to, with every fold open.
CUT_OFF = """card => {
    const edge = card.getBoundingClientRect().right + 1;
    const scrolls = part => part !== card
        && (/auto|scroll/.test(getComputedStyle(part).overflowX) || scrolls(part.parentElement));
    const folds = card.querySelectorAll('details:not([open])');
    folds.forEach(fold => { fold.open = true; });
    const cut = [...card.querySelectorAll('*')]
        .filter(part => part.getBoundingClientRect().right > edge && !scrolls(part.parentElement))
        .map(part => part.tagName + '.' + part.className);
    folds.forEach(fold => { fold.open = false; });
    return cut;
}"""
BRIGHTNESS = """card => getComputedStyle(card).backgroundColor.match(/[0-9.]+/g).slice(0, 3)
    .reduce((sum, part) => sum + Number(part), 0)"""


def ids(path):
    return path.stem


def answer_cells(edition, lesson):
    """Exercise id → code of its answer cell in `lessons` or `solutions`, as a student would have typed it."""
    notebook = parse((ROOT / edition / lesson.name).read_text(encoding="utf-8"))
    return {marker_of(cell.code): solved(cell.code) for cell in notebook.cells if marker_of(cell.code)}


def exercises_of(lesson):
    return [row for row in all_exercises() if row.lesson == lesson.stem]


@pytest.mark.parametrize("lesson", LESSONS, ids=ids)
def test_typed_answers_pass_and_are_in_the_file(lesson, open_lesson):
    page = open_lesson(lesson)
    answers, starters = answer_cells("solutions", lesson), answer_cells("lessons", lesson)
    rows = exercises_of(lesson)
    for row in rows:
        page.card(row.id).first.wait_for(state="attached")
    for row in rows:
        page.write_cell(page.answer_editor(row.id), answers[row.id])
        page.wait_for(row.id, "pass")
    text = page.wait_for_file(lambda text: all(answers_in(text).get(row.id) == answers[row.id] for row in rows))
    assert checked(text, page.notebook.with_name("collected.py")) == {row.id: True for row in rows}
    # With every answer taken back, marimo's file is byte for byte the one that was released.
    for row in rows:
        page.write_cell(page.answer_editor(row.id), starters[row.id])
        page.wait_until_not_passed(row.id)
    page.wait_for_file(lambda text: text == lesson.read_text(encoding="utf-8"))
    assert page.foreign == []


def answers_in(text):
    """Exercise id → its answer cell's code; none of a file that is being written or holds a cell that does not parse."""
    try:
        return {marker_of(cell.code): cell.code for cell in parse(text).cells if marker_of(cell.code)}
    except NotebookFormError:
        return {}


def checked(text, file):
    """Exercise id → whether it passes, of a file that was collected: it is judged like the cell was."""
    file.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "grader", "check", str(file), "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {report["exercise_id"]: report["passed"] for report in map(json.loads, done.stdout.splitlines())}


def test_fault_is_shown_at_its_line_and_gone_after_the_repair(open_lesson):
    page = open_lesson(START)
    answer = answer_cells("solutions", START)["hello.double_it"]
    page.card("hello.double_it").first.wait_for(state="attached")
    page.write_cell(page.answer_editor("hello.double_it"), answer.replace("if (i < n) ", ""))
    card = page.wait_for("hello.double_it", "memory_fault")
    assert card.locator(".ww-mark.ww-error").count() >= 1
    assert "y[i] = 2.0f * x[i]" in card.locator(".ww-mark.ww-error").first.inner_text()
    page.write_cell(page.answer_editor("hello.double_it"), answer)
    card = page.wait_for("hello.double_it", "pass")
    assert card.locator(".ww-mark").count() == 0
    assert card.get_attribute("data-points") == card.get_attribute("data-max-points")


def test_python_that_does_not_parse_is_kept_and_repaired(open_lesson):
    page = open_lesson(START)
    answer = answer_cells("solutions", START)["hello.double_it"]
    page.card("hello.double_it").first.wait_for(state="attached")
    page.write_cell(page.answer_editor("hello.double_it"), answer.rstrip().removesuffix('"""'))
    page.wait_for_file(lambda text: "app._unparsable_cell" in text)
    page.write_cell(page.answer_editor("hello.double_it"), answer)
    page.wait_for("hello.double_it", "pass")
    page.wait_for_file(lambda text: answers_in(text).get("hello.double_it") == answer)


@pytest.mark.parametrize("untouched", LESSONS, ids=ids, indirect=True)
def test_lesson_opens_with_a_verdict_for_every_exercise(untouched):
    for row in exercises_of(untouched.notebook):
        card = untouched.card(row.id).first
        card.wait_for(state="attached")
        status = card.get_attribute("data-status")
        assert status not in ("pass", "internal_error"), f"the starter of {row.id}: {card.inner_text()}"
        assert card.locator(".ww-next").inner_text().strip(), f"{row.id} does not say what to do next"
    assert untouched.page.locator(".marimo-error, [data-error]").count() == 0
    assert untouched.errors == []
    assert untouched.foreign == []


@pytest.fixture
def first_card(untouched):
    """The card of lesson 00's kernel, as its starter gets it."""
    card = untouched.card("hello.double_it").first
    card.wait_for(state="attached")
    return card


only_start = pytest.mark.parametrize("untouched", [START], ids=ids, indirect=True)


@only_start
def test_folds_of_the_card_open_by_keyboard(untouched, first_card):
    fold = first_card.locator("details").first
    fold.locator("summary").first.focus()
    untouched.page.keyboard.press("Space")  # marimo takes Enter for itself: it goes to the cell's editor
    assert fold.evaluate("element => element.open")


@pytest.mark.parametrize("scheme", ["dark", "light"])
@only_start
def test_card_is_light_or_dark_as_the_operating_system_is(untouched, first_card, scheme):
    untouched.page.emulate_media(color_scheme=scheme)
    wanted = "brightness < 150" if scheme == "dark" else "brightness > 700"
    condition = f"card => {{ const brightness = ({BRIGHTNESS})(card); return {wanted}; }}"
    untouched.page.wait_for_function(condition, arg=first_card.element_handle())


@only_start
def test_nothing_of_a_card_is_cut_off_on_a_phone(untouched, first_card):
    untouched.page.set_viewport_size({"width": 390, "height": 844})
    try:
        assert first_card.evaluate("card => card.getBoundingClientRect().width") < 390
        assert first_card.evaluate(CUT_OFF) == []
    finally:
        untouched.page.set_viewport_size({"width": 1280, "height": 1000})
