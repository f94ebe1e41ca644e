"""Makes a hand-in safe for OverwriteCells: nbgrader's metadata on the assignment's cells, on each of them, on no other.

nbgrader 0.9.6 stops with a KeyError, and the student has no grade, where a cell has metadata that a student made up (or
that DeduplicateIds emptied), where an answer's cell is gone, and at feedback where Colab kept the state of a widget.
"""

from __future__ import annotations

from collections.abc import Iterator

from nbformat.notebooknode import NotebookNode
from nbformat.v4 import new_code_cell
from nbgrader.api import Gradebook, Notebook, SourceCell
from nbgrader.preprocessors import NbGraderPreprocessor

__all__ = ["ForgetStrangers"]

MARKERS = ("# exercise: ", "# check: ")
GONE = "# The cell of this answer was not handed in."


class ForgetStrangers(NbGraderPreprocessor):
    """Stands between DeduplicateIds and OverwriteCells; the cells themselves stay."""

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """The notebook with the cells of the released one known by their metadata, or by their first line."""
        facts = resources["nbgrader"]
        nb.metadata.pop("widgets", None)
        with Gradebook(facts["db_url"]) as gradebook:
            released = gradebook.find_notebook(facts["notebook"], facts["assignment"])
            known = {cell.name for cell in released.source_cells}
            for cell in nb.cells:
                if cell.metadata.get("nbgrader", {}).get("grade_id") not in known:
                    cell.metadata.pop("nbgrader", None)
            _find_again(nb, released)
            _stand_in_for_answers(nb, released)
        return nb, resources


def _find_again(nb: NotebookNode, released: Notebook) -> None:
    """Cells whose metadata an editor dropped: an answer and its test are known by their first line."""
    bare: dict[str, NotebookNode] = {}
    for cell in nb.cells:
        first = _first_line(cell.source)
        if cell.cell_type == "code" and "nbgrader" not in cell.metadata and first.startswith(MARKERS):
            bare.setdefault(first, cell)
    for source in _missing(nb, released):
        if found := bare.get(_first_line(source.source)):
            found.metadata["nbgrader"] = _metadata(source, released)


def _stand_in_for_answers(nb: NotebookNode, released: Notebook) -> None:
    """An empty cell for each answer that is not there, behind which nbgrader can put the test back."""
    answers = {cell.name for cell in released.solution_cells} - {cell.name for cell in released.grade_cells}
    order = [cell.name for cell in released.source_cells]
    for source in [cell for cell in _missing(nb, released) if cell.name in answers]:
        before = set(order[: order.index(source.name)])
        place = max((index + 1 for index, cell in enumerate(nb.cells) if _name(cell) in before), default=0)
        nb.cells.insert(place, new_code_cell(GONE, metadata={"nbgrader": _metadata(source, released)}))


def _missing(nb: NotebookNode, released: Notebook) -> Iterator[SourceCell]:
    there = {_name(cell) for cell in nb.cells}
    return (source for source in released.source_cells if source.name not in there)


def _metadata(source: SourceCell, released: Notebook) -> dict[str, object]:
    """nbgrader's metadata of a released cell, schema 3."""
    points = {cell.name: cell.max_score for cell in released.grade_cells}
    facts = {
        "cell_type": source.cell_type,
        "checksum": source.checksum,
        "grade": source.name in points,
        "grade_id": source.name,
        "locked": source.locked,
        "schema_version": 3,
        "solution": source.name in {cell.name for cell in released.solution_cells},
        "task": source.name in {cell.name for cell in released.task_cells},
    }
    return facts | ({"points": points[source.name]} if source.name in points else {})


def _name(cell: NotebookNode) -> str:
    return cell.metadata.get("nbgrader", {}).get("grade_id", "")


def _first_line(text: str) -> str:
    return text.split("\n", 1)[0].rstrip()
