"""Seventeen hand-ins of one assignment: who handed in what, and the points that `hello.double_it` (of 1) must give."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from grader.release.clearing import solved

ASSIGNMENT = "00_start_here"
ANSWER = "answer-hello-double-it"
CHECK = "check-hello-double-it"
GUARD = "if (i < n) y[i] = 2.0f * x[i];"


@dataclass(frozen=True)
class Student:
    """`change(notebook, ran)` alters a right notebook in place; `ran` is a file that only running a cell would make."""

    name: str
    points: float
    change: Callable[[NotebookNode, Path], None]
    solves: bool = True


def find(notebook, name):
    return next(cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade_id") == name)


def _kernel(old, new):
    def change(notebook, ran):
        cell = find(notebook, ANSWER)
        assert old in cell.source
        cell.source = cell.source.replace(old, new)

    return change


def _cell(text):
    """Puts a code cell in front of all others."""

    def change(notebook, ran):
        notebook.cells.insert(0, nbformat.v4.new_code_cell(text.format(ran=str(ran))))

    return change


def _both(*changes):
    def change(notebook, ran):
        for one in changes:
            one(notebook, ran)

    return change


def _nothing(notebook, ran):
    pass


def _without_check(notebook, ran):
    notebook.cells.remove(find(notebook, CHECK))


def _twice(notebook, ran):
    notebook.cells.append(copy.deepcopy(find(notebook, ANSWER)))
    notebook.cells[-1].id = "another"


def _reversed(notebook, ran):
    notebook.cells.reverse()


def _forged(notebook, ran):
    """A full score in the output, more points in the metadata, another text in the locked cell."""
    cell = find(notebook, CHECK)
    cell.outputs = [nbformat.v4.new_output("execute_result", {"text/plain": "1.0"}, execution_count=1)]
    cell.metadata.nbgrader["points"] = 100
    cell.source = "1.0"


def _stranger(notebook, ran):
    """A test cell of the student's own, worth everything."""
    cell = nbformat.v4.new_code_cell("1.0")
    facts = {"grade": True, "grade_id": "mine", "locked": True, "schema_version": 3, "solution": False, "task": False}
    cell.metadata["nbgrader"] = facts | {"points": 50}
    notebook.cells.append(cell)


def _from_colab(notebook, ran):
    """As Colab saves: its own metadata, no cell ids, and the state of a widget under a key that nbconvert lacks."""
    notebook.nbformat_minor = 0
    notebook.metadata["widgets"] = {"application/vnd.jupyter.widget-state+json": {"ab12": {"model_name": "HBoxModel"}}}
    for number, cell in enumerate(notebook.cells):
        cell.pop("id")
        cell.metadata |= {"id": f"x{number}", "colab": {"base_uri": "https://localhost:8080/"}, "outputId": "y"}


def _metadata_lost(notebook, ran):
    for cell in notebook.cells:
        cell.metadata.pop("nbgrader", None)


def _answers_deleted(notebook, ran):
    notebook.cells = [cell for cell in notebook.cells if not cell.source.startswith(("# exercise: ", "# check: "))]


def _no_literal(notebook, ran):
    cell = find(notebook, ANSWER)
    cell.source = cell.source.replace('double_it_src = r"""', 'double_it_src = "" + r"""')


WRITES = 'open({ran!r}, "w").write("ran")'
NO_GUARD = _kernel("if (i < n) y[i] = 2.0f * x[i];", "y[i] = 2.0f * x[i];")

STUDENTS = (
    Student("right", 1, _nothing),
    Student("wrong-guard", 0, _kernel("i < n", "i <= n")),
    Student("untouched", 0, _nothing, solves=False),
    Student("endless-kernel", 0, _kernel(GUARD, "for (volatile int k = 0;; ++k) y[0] = k;")),
    Student("endless-python", 1, _cell("while True:\n    pass")),
    Student("deleted-test", 1, _without_check),
    Student("duplicated-cell", 0, _twice),
    Student("reordered", 1, _reversed),
    Student(
        "patched-checker", 0, _both(NO_GUARD, _cell("import grader\n" + WRITES + "\ngrader.check = lambda *a: 1.0"))
    ),
    Student("file-writer", 1, _cell(WRITES)),
    Student("syntax-error", 0, _kernel('"""\n', '""\n')),
    Student("no-literal", 0, _no_literal),
    Student("forger", 0, _both(NO_GUARD, _forged)),
    Student("stranger", 0, _both(NO_GUARD, _stranger)),
    Student("from-colab", 1, _from_colab),
    Student("metadata-lost", 1, _metadata_lost),
    Student("answers-deleted", 0, _answers_deleted),
)


def hand_in(student: Student, released: NotebookNode, source: NotebookNode, ran: Path) -> NotebookNode:
    """The student's notebook: the released one, solved where `solves`, then changed."""
    notebook = copy.deepcopy(released)
    if student.solves:
        for cell in source.cells:
            facts = cell.metadata.get("nbgrader")
            if facts and facts["solution"] and cell.cell_type == "code":
                find(notebook, facts["grade_id"]).source = solved(cell.source)
    student.change(notebook, ran)
    return notebook
