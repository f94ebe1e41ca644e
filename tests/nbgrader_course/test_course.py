"""A whole nbgrader course by its own commands: generate, release, submit, collect, autograde, feedback, export.

Seventeen students and one who worked in marimo hand in through the exchange; grades are right, and none of their
Python ran.
"""

import csv
import os
import shutil
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook

from tests.nbgrader_course.students import ASSIGNMENT, CHECK, GUARD, STUDENTS, find, hand_in

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = f"{ASSIGNMENT}.ipynb"
EXCHANGE = '\nc.Exchange.root = "{root}"\n'
# One process for all students: nbgrader's start costs more than what it does.
SUBMIT = """
import os, sys
from nbgrader.apps import SubmitApp
for folder in sys.argv[1:]:
    os.chdir(folder)
    SubmitApp.clear_instance()
    SubmitApp.launch_instance(["00_start_here", "--student=" + os.path.basename(folder)])
"""

pytestmark = pytest.mark.timeout(900)  # the whole course is one fixture


class Course:
    """A course folder with its exchange, and the commands run in it."""

    def __init__(self, top: Path):
        self.top, self.folder, self.exchange = top, top / "course", top / "exchange"
        self.ran = top / "ran.txt"
        shutil.copytree(ROOT / "nbgrader", self.folder, ignore=shutil.ignore_patterns("gradebook.db"))
        self.exchange.mkdir()
        self.exchange.chmod(0o777)
        with open(self.folder / "nbgrader_config.py", "a") as config:
            config.write(EXCHANGE.format(root=self.exchange))

    def run(self, *arguments, cwd=None):
        environment = os.environ | {
            "PYTHONPATH": str(ROOT), "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "JUPYTER_CONFIG_DIR": str(self.top / "jupyter"), "JUPYTER_DATA_DIR": str(self.top / "jupyter"),
        }  # fmt: skip
        done = subprocess.run(
            arguments, cwd=cwd or self.folder, env=environment, capture_output=True, text=True, timeout=600
        )
        assert done.returncode == 0, done.stderr[-6000:]
        return done

    def nbgrader(self, command, *options):
        return self.run(sys.executable, "-m", "nbgrader", command, ASSIGNMENT, *options)

    def read(self, *parts):
        return nbformat.read(self.folder.joinpath(*parts, ASSIGNMENT, NOTEBOOK), as_version=4)

    def grades(self, student):
        with Gradebook(f"sqlite:///{self.folder}/gradebook.db") as gradebook:
            notebook = gradebook.find_submission_notebook(ASSIGNMENT, ASSIGNMENT, student)
            return {grade.name: (grade.auto_score, grade.max_score) for grade in notebook.grades}


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """The course after everything was done once."""
    course = Course(tmp_path_factory.mktemp("nbgrader"))
    course.nbgrader("generate_assignment")
    course.nbgrader("release_assignment")
    released, source = course.read("release"), course.read("source")
    folders = []
    for student in STUDENTS:
        folder = course.top / "home" / student.name
        (folder / ASSIGNMENT).mkdir(parents=True)
        nbformat.write(hand_in(student, released, source, course.ran), folder / ASSIGNMENT / NOTEBOOK)
        folders.append(str(folder))
    folders.append(str(in_marimo(course)))
    shutil.copy(course.folder / "nbgrader_config.py", course.top / "home")
    for folder in folders:
        shutil.copy(course.folder / "nbgrader_config.py", folder)
    course.run(sys.executable, "-c", SUBMIT, *folders)
    course.nbgrader("collect")
    course.log = course.nbgrader("autograde").stderr
    course.nbgrader("generate_feedback")
    course.nbgrader("release_feedback")
    course.run(sys.executable, "-m", "nbgrader", "export")
    return course


def in_marimo(course):
    """A student who solved the lesson in marimo and puts it into the released notebook with `grader submit`."""
    folder = course.top / "home" / "marimo"
    shutil.copytree(course.folder / "release" / ASSIGNMENT, folder / ASSIGNMENT)
    lesson = folder / f"{ASSIGNMENT}.py"
    shutil.copy(ROOT / "solutions" / lesson.name, lesson)
    course.run(sys.executable, "-m", "grader", "submit", str(lesson), cwd=folder)
    return folder


@pytest.mark.parametrize("student", STUDENTS, ids=lambda student: student.name)
def test_points_are_right(course, student):
    assert course.grades(student.name)[CHECK] == (student.points, 1)


def test_what_was_solved_in_marimo_counts(course):
    assert course.grades("marimo") == {"check-hello-predict": (1, 1), CHECK: (1, 1), "reflect-00-start-here-1": (0, 1)}


def test_nothing_of_a_student_ran(course):
    assert not course.ran.exists()
    assert "Executing" not in course.log


def test_released_notebook_holds_no_solution(course):
    text = nbformat.writes(course.read("release"))
    assert GUARD not in text and "BEGIN SOLUTION" not in text
    assert "Most of what makes a kernel slow can be counted" not in text
    assert "twice as much, not two more" in text


def test_exported_table_has_every_student(course):
    with open(course.folder / "grades.csv", newline="") as table:
        rows = {row["student_id"]: row for row in csv.DictReader(table)}
    assert set(rows) == {student.name for student in STUDENTS} | {"marimo"}
    assert float(rows["right"]["score"]) == 2 and float(rows["untouched"]["score"]) == 0


@pytest.mark.parametrize(
    "student, words", [("right", "passed"), ("wrong-guard", "double_it"), ("no-literal", "literal")]
)
def test_feedback_shows_the_verdict_card(course, student, words):
    pages = list((course.folder / "feedback" / student / ASSIGNMENT).glob("*.html"))
    assert len(pages) == 1
    text = pages[0].read_text()
    assert 'data-exercise="hello.double_it"' in text and words in text


def test_feedback_was_released(course):
    assert len(list(course.exchange.glob("warpwise/feedback/*.html"))) == len(STUDENTS) + 1


def test_regrade_keeps_what_a_person_gave(course):
    database = f"sqlite:///{course.folder}/gradebook.db"
    with Gradebook(database) as gradebook:
        grade = gradebook.find_grade(CHECK, ASSIGNMENT, ASSIGNMENT, "wrong-guard")
        grade.manual_score = 0.5
        comment = gradebook.find_comment("answer-hello-double-it", ASSIGNMENT, ASSIGNMENT, "wrong-guard")
        comment.manual_comment = "nearly"
        gradebook.db.commit()
    course.nbgrader("autograde", "--student=wrong-guard", "--force")
    with Gradebook(database) as gradebook:
        grade = gradebook.find_grade(CHECK, ASSIGNMENT, ASSIGNMENT, "wrong-guard")
        comment = gradebook.find_comment("answer-hello-double-it", ASSIGNMENT, ASSIGNMENT, "wrong-guard")
        assert (grade.auto_score, grade.score, comment.comment) == (0, 0.5, "nearly")


def test_a_deleted_test_cell_came_back(course):
    assert find(course.read("autograded", "deleted-test"), CHECK).outputs


QUESTION = "reflect-00-start-here-1"


@pytest.fixture(scope="module")
def late(course):
    """What the gradebook holds of a right notebook that came too late and answers the question in text."""
    path = course.folder / "submitted" / "reordered" / ASSIGNMENT / NOTEBOOK
    notebook = nbformat.read(path, as_version=4)
    find(notebook, QUESTION).source = "Because memory is far away."
    nbformat.write(notebook, path)
    with Gradebook(f"sqlite:///{course.folder}/gradebook.db") as gradebook:
        gradebook.update_or_create_assignment(ASSIGNMENT, duedate=datetime(2026, 1, 1, 12))
        course.nbgrader("autograde", "--student=reordered", "--force", "--LateSubmissionPlugin.penalty_method=zero")
        yield gradebook.find_submission_notebook(ASSIGNMENT, ASSIGNMENT, "reordered")


def test_a_late_penalty_of_nbgraders_is_kept(late):
    assert (late.score, late.late_submission_penalty) == (2, 2)


def test_a_question_in_text_waits_for_a_person(late):
    assert [grade.name for grade in late.grades if grade.needs_manual_grade] == [QUESTION]
