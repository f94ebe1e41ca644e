"""The class of `speed_class` in nbgrader: an assignment of its two exercises, made, handed in and graded in this process."""

from __future__ import annotations

import contextlib
import csv
import shutil
from pathlib import Path
from unittest import mock

import nbformat
from nbgrader.api import Gradebook
from nbgrader.apps import NbGraderAPI
from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader
from traitlets.utils.importstring import import_item

from grader.release.jupyter_edition import notebook_of
from tests.grader.speed_class import CELL, EXERCISES, HEAD, SOLUTIONS, STUDENTS, text

ROOT = SOLUTIONS.parent
IMPORTS = "\n\n@app.cell\ndef _():\n    from grader import check\n\n    return (check,)\n"
CHECK = '\n\n@app.cell\ndef _(check, {name}_src):\n    check("{exercise}", {name}_src)\n    return\n'


class NbgraderCourse:
    """A course folder with the repository's configuration, graded by verdicts of the class's store.

    Args:
        graded: the class; `db` is its store, `top` where the course is made.
    """

    def __init__(self, graded):
        self._folder: Path = graded.top / "nbgrader"
        shutil.copytree(ROOT / "nbgrader", self._folder, ignore=shutil.ignore_patterns("gradebook.db", "source"))
        self._config = PyFileConfigLoader("nbgrader_config.py", path=str(self._folder)).load_config()
        self._config.merge(Config({
            "CourseDirectory": {"root": str(self._folder), "course_id": "speed"},
            "Exchange": {"root": str(graded.top)},
            "GradeAnswers": {"db": str(graded.db)},
        }))  # fmt: skip

    def make(self, assignment: str, policy: str) -> None:
        """`nbgrader generate_assignment`, and everybody's hand-in of it."""
        self._write("source", assignment, notebook_of(_solved(), "speed", ROOT / "assets"))
        self._call("generate_assignment", policy, assignment)
        released = nbformat.read(self._folder / "release" / assignment / "speed.ipynb", as_version=4)
        for student in STUDENTS:
            for cell in released.cells:
                for name in EXERCISES:
                    if cell.source.startswith(f"# exercise: {name}"):
                        cell.source = _cell(student, name)
            self._write(f"submitted/{student}", assignment, nbformat.writes(released))

    def grade(self, assignment: str, policy: str, device: str = "simulator") -> None:
        """`nbgrader autograde --force` for everybody."""
        self._config.GradeAnswers.device = device
        for student in STUDENTS:
            self._call("autograde", policy, assignment, student, force=True)

    def _write(self, place: str, assignment: str, notebook: str) -> None:
        folder = self._folder / place / assignment
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "speed.ipynb").write_text(notebook, encoding="utf-8")

    def _call(self, name: str, policy: str, *arguments, **options) -> None:
        self._config.SpeedPolicy.unmeasured_speed = policy
        # For the number of its newest migration nbgrader starts a process that takes seconds; a new database only keeps it.
        with contextlib.chdir(self._folder), mock.patch("nbgrader.api.get_alembic_version", lambda: "not asked"):
            done = getattr(NbGraderAPI(config=self._config), name)(*arguments, **options)
        assert done["success"], done

    def points(self, assignment: str) -> dict[str, tuple]:
        """Student → for each exercise the points of its test cells, None for one that waits for a GPU or a person."""
        found = {}
        with Gradebook(f"sqlite:///{self._folder}/gradebook.db") as gradebook:
            for student in STUDENTS:
                grades = {
                    grade.name: grade
                    for grade in gradebook.find_submission_notebook("speed", assignment, student).grades
                }
                assert all(grade.needs_manual_grade == (grade.auto_score is None) for grade in grades.values())
                cells = [[f"check-{_slug(name)}", f"check-{_slug(name)}-speedup"] for name in EXERCISES]
                found[student] = tuple(
                    tuple(grades[cell].auto_score for cell in pair if cell in grades) for pair in cells
                )
        return found

    def export(self, **options) -> list[dict[str, str]] | None:
        """`nbgrader export` by the plugin that the configuration names: its rows, None where it ends without a file."""
        file = self._folder / "grades.csv"
        file.unlink(missing_ok=True)
        plugin = import_item(self._config.ExportApp.plugin_class)(to=str(file), **options)
        with Gradebook(f"sqlite:///{self._folder}/gradebook.db") as gradebook:
            gradebook.update_or_create_student("ann", last_name="Åse, Ann", first_name='=1+"王"')
            try:
                plugin.export(gradebook)
            except SystemExit as ended:
                assert ended.code == 1 and not file.exists()
                return None
        return list(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))


def _solved() -> str:
    """A solution with the two exercises, from which the assignment is made."""
    parts = [HEAD, IMPORTS]
    for name in EXERCISES:
        facts = {"exercise": name, "name": name.split(".")[1]}
        parts += [CELL.format(text=text("ann", name), **facts), CHECK.format(**facts)]
    return "".join(parts) + '\n\nif __name__ == "__main__":\n    app.run()\n'


def _cell(student: str, name: str) -> str:
    return f'# exercise: {name}\n{name.split(".")[1]}_src = r"""\n{text(student, name)}\n"""'


def _slug(name: str) -> str:
    return name.replace(".", "-").replace("_", "-")
