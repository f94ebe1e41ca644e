"""A grading run around the judging: what is done once, what is taken up again, what counts."""

import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from grader.batch.work import GradingStopped, Outcome
from grader.exporters import export
from grader.stores import open_store
from tests.grader.batch.classes import WHEN, make_class, notebook, write
from tests.grader.batch.fake_runner import FakeRunner
from tests.grader.batch.grading import grade_folder, gradebook
from tests.processes import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parents[3]
DAY = 86_400
DOT_TOO = """    return


@app.cell
def _():
    # exercise: selftest.dot
    dot_src = r\"\"\"
    if (i < n) y[i] = x[i] * x[i] + 1.0f;
    \"\"\"
    dot_launch = {"grid": 1, "block": 256}
    return
"""


@pytest.fixture
def store(tmp_path):
    with open_store(f"sqlite:///{tmp_path}/class.db") as opened:
        yield opened


@pytest.fixture
def folder(tmp_path):
    return make_class(tmp_path / "class", {"ann": "right", "bob": "no-guard", "cy": "right"})


def entries(store, folder):
    """student → entry of selftest.map, the one exercise that these classes answer."""
    book = gradebook(store, folder)
    return {row.student: entry for row in book.rows for entry in row.entries if entry.exercise_id == "selftest.map"}


def test_every_submission_is_recorded_once(store, folder):
    plan, lost = grade_folder(folder, store)
    assert not lost and len(plan.works) == 3
    assert {student: entry.verdict for student, entry in entries(store, folder).items()} == {
        "ann": "pass", "bob": "memory_fault", "cy": "pass",
    }  # fmt: skip
    assert len([result for result in store.results() if result.key]) == len(store.attempts()) == 3


def test_nothing_changed_is_nothing_done(store, folder):
    grade_folder(folder, store)
    runner = FakeRunner()
    plan, _ = grade_folder(folder, store, runner)
    assert not runner.judged and not plan.works and plan.n_known == 3


def test_equal_answers_are_judged_once(store, tmp_path):
    folder = tmp_path / "class"
    for student in ("ann", "bob"):
        write(folder / student / "selftest.py", notebook("right", "same"))
    runner = FakeRunner()
    grade_folder(folder, store, runner)
    assert len(runner.judged) == 1
    assert [entry.is_passed for entry in entries(store, folder).values()] == [True, True]


def test_a_newer_hand_in_counts_and_the_older_one_stays(store, folder):
    grade_folder(folder, store)
    write(folder / "bob" / "selftest.py", notebook("right", "bob again"), WHEN + 60)
    runner = FakeRunner()
    grade_folder(folder, store, runner)
    assert len(runner.judged) == 1
    assert entries(store, folder)["bob"].is_passed
    assert len([one for one in store.hand_ins() if one.student == "bob"]) == 2


@pytest.mark.parametrize("emptied", ["import marimo\n\napp = marimo.App()\n", "", b"\xff\xfe not text", "def ("])
def test_an_accident_leaves_the_earlier_hand_in_standing(store, folder, emptied):
    grade_folder(folder, store)
    write(folder / "ann" / "selftest.py", emptied, WHEN + 60)
    plan, _ = grade_folder(folder, store)
    assert entries(store, folder)["ann"].is_passed
    (newest,) = [one for one in plan.hand_ins if one.student == "ann"]
    assert plan.readings[newest.id].problem or plan.readings[newest.id].suspicious


def test_a_file_that_is_no_notebook_says_so_in_every_exercise(store, folder):
    write(folder / "dan" / "selftest.ipynb", '{"cells": [')
    grade_folder(folder, store)
    entry = entries(store, folder)["dan"]
    assert (entry.verdict, entry.score) == ("missing", 0.0) and "not readable as JSON" in entry.message


def test_an_answer_that_ends_whatever_grades_it_earns_nothing_and_is_tried_again(store, folder):
    runner = FakeRunner(lose=["ann: selftest.py"])
    _, lost = grade_folder(folder, store, runner)
    assert [outcome.task.label for outcome in lost] == ["ann: selftest.py"] and runner.controls == 2
    entry = entries(store, folder)["ann"]
    assert (entry.verdict, entry.score, entry.is_passed) == ("internal_error", 0.0, False)
    assert "ended in the middle" in entry.message and entry.digest
    grade_folder(folder, store)
    assert entries(store, folder)["ann"].is_passed
    assert len([result for result in store.results() if result.key]) == 3


def renewed(monkeypatch):
    """A newer release of the course, by which every verdict has to be reached again."""
    newer = {"grader": "next", "nvrtc": "13.0"}
    monkeypatch.setattr("grader.batch.course.versions", lambda: newer)
    monkeypatch.setattr("tests.grader.batch.fake_runner.versions", lambda: newer)


@pytest.mark.parametrize("lose", [["ann: selftest.py"], ["ann: selftest.py", "bob: selftest.py", "cy: selftest.py"]])
def test_a_machine_that_fails_changes_nobodys_verdict(store, folder, monkeypatch, lose):
    grade_folder(folder, store)
    before, attempts = entries(store, folder), len(store.attempts())
    renewed(monkeypatch)
    with pytest.raises(GradingStopped, match="also with a right answer of our own"):
        grade_folder(folder, store, FakeRunner(lose=[*lose, "control"]))
    assert entries(store, folder) == before and len(store.attempts()) == attempts
    plan, lost = grade_folder(folder, store)
    assert not lost and len(plan.works) == 3
    assert {entry.report["versions"]["grader"] for entry in entries(store, folder).values()} == {"next"}


def test_a_hand_in_that_was_not_graded_yet_says_so_and_the_earlier_one_counts(store, folder):
    grade_folder(folder, store)
    write(folder / "ann" / "selftest.py", notebook("wrong", "ann again"), WHEN + 60)
    write(folder / "dan" / "selftest.py", notebook("right", "dan"))
    lose = ["ann: selftest.py", "dan: selftest.py", "control"]
    with pytest.raises(GradingStopped):
        grade_folder(folder, store, FakeRunner(lose=lose))
    found = entries(store, folder)
    assert found["ann"].is_passed
    assert (found["dan"].verdict, found["dan"].score) == ("missing", 0.0) and "not graded yet" in found["dan"].message
    grade_folder(folder, store)
    assert (entries(store, folder)["ann"].verdict, entries(store, folder)["dan"].verdict) == ("wrong_answer", "pass")


def test_a_worker_of_another_release_gives_no_verdict(store, folder, monkeypatch):
    grade_folder(folder, store)
    before = entries(store, folder)
    monkeypatch.setattr("grader.batch.course.versions", lambda: {"grader": "next", "nvrtc": "13.0"})
    with pytest.raises(GradingStopped, match="worker fake runs other versions"):
        grade_folder(folder, store)
    assert entries(store, folder) == before


class LosesTogether(FakeRunner):
    """Loses a whole hand-in with several answers, and then each of them that is named."""

    def __init__(self, lose_exercise):
        super().__init__()
        self.lose_exercise = lose_exercise

    def outcomes(self, tasks):
        for task in tasks:
            if task.label != "control" and self.lose_exercise in [answer.exercise_id for _, answer in task.answers]:
                yield Outcome(task, lost="the grading process ended in the middle, 3 times")
            else:
                yield from super().outcomes([task])


def test_an_answer_that_ends_its_worker_costs_the_others_of_its_notebook_nothing(store, tmp_path):
    both = notebook("right", "ann").replace("    return\n", DOT_TOO, 1)
    folder = tmp_path / "class"
    write(folder / "ann" / "selftest.py", both)
    _, (lost,) = grade_folder(folder, store, LosesTogether("selftest.dot"))
    assert len(lost.reports) == 1
    (row,) = gradebook(store, folder).rows
    assert {entry.exercise_id: entry.verdict for entry in row.entries if entry.file and entry.report} == {
        "selftest.map": "pass", "selftest.dot": "internal_error",
    }  # fmt: skip


def test_an_answer_that_cannot_be_read_is_zero_with_a_reason(store, folder):
    twice = notebook("right", "x").replace(
        "    return", "    return\n\n\n@app.cell\ndef _():\n    map_src = 1\n    return", 1
    )
    write(folder / "dan" / "selftest.py", twice)
    grade_folder(folder, store)
    entry = entries(store, folder)["dan"]
    assert (entry.verdict, entry.score) == ("unreadable", 0.0)
    assert "assigned 2 times" in entry.message


def test_a_run_killed_at_ten_points_ends_in_the_same_bytes(tmp_path):
    folder = make_class(tmp_path / "class", {f"s{number:02}": kind for number, kind in enumerate(
        ("right", "no-guard", "wrong", "endless", "typo", "right") * 2)})  # fmt: skip
    with open_store(f"sqlite:///{tmp_path}/whole.db") as whole:
        grade_folder(folder, whole)
        expected = {
            to: export(gradebook(whole, folder), to) for to in ("csv", "canvas", "moodle", "gradescope", "parquet")
        }
    url = f"sqlite:///{tmp_path}/killed.db"
    draw = random.Random(5)
    command = [sys.executable, "-m", "tests.grader.batch.grading", str(folder), url]
    kills = 0
    while kills < 10:
        done = subprocess.run([*command, str(draw.randrange(3, 45))], cwd=ROOT, timeout=PATIENCE_SECONDS)
        assert done.returncode in (0, -signal.SIGKILL)
        kills += done.returncode != 0
        if done.returncode == 0:  # what was left to do took fewer statements: from the beginning
            Path(f"{tmp_path}/killed.db").unlink()
    subprocess.run(command, cwd=ROOT, timeout=PATIENCE_SECONDS, check=True)
    with open_store(url) as killed:
        assert {to: export(gradebook(killed, folder), to) for to in expected} == expected
        assert len(killed.results()) == len({(r.hand_in, r.exercise_id) for r in killed.results()})


CLASS = """
name = "CUDA 101"
[[assignments]]
name = "Selftest"
exercises = ["selftest.map", "selftest.dot"]
due = 2026-01-01T12:00:00+00:00
late_per_day = 0.25
late_days = 3
[weights]
"selftest.map" = 8
[students.late]
extension_days = 1
[students.absent]
name = "Nobody Yet"
[groups]
"team 1" = ["ann", "mate"]
"""


def test_weights_lateness_extensions_and_groups(store, tmp_path):
    folder = make_class(tmp_path / "class", ["ann", "late", "later", "too_late"])
    write(folder / "class.toml", CLASS)
    for student, days in (("late", 1), ("later", 1), ("too_late", 9)):
        write(folder / student / "selftest.py", notebook("right", student), WHEN + days * DAY)
    grade_folder(folder, store)
    found = {
        student: (entry.score, entry.max_score, entry.kept_share) for student, entry in entries(store, folder).items()
    }
    assert found == {
        "absent": (0, 8, 1), "ann": (8, 8, 1), "mate": (8, 8, 1), "late": (8, 8, 1), "later": (6, 8, 0.75),
        "too_late": (0, 8, 0),
    }  # fmt: skip
    book = gradebook(store, folder)
    assert {row.group for row in book.rows if row.student in ("ann", "mate")} == {"team 1"}
    missing = [entry for row in book.rows for entry in row.entries if entry.exercise_id == "selftest.dot"]
    assert {entry.verdict for entry in missing} == {"missing"}


def test_frozen_thresholds_outlive_a_newer_course(store, folder, monkeypatch):
    from dataclasses import replace

    from grader.batch import course

    grade_folder(folder, store)
    rows = course.known_exercises()
    dearer = tuple(replace(row, points=5.0) if row.id == "selftest.map" else row for row in rows)
    monkeypatch.setattr(course, "known_exercises", lambda packs=(): dearer)
    assert entries(store, folder)["ann"].max_score == 1.0
    assert course.open_course(store, course.find_class(None, folder), "simulator").rows["selftest.map"].points == 1.0
    assert course.freeze_today(store, course.find_class(None, folder)) == ["selftest.map"]
    assert entries(store, folder)["ann"].max_score == 5.0
