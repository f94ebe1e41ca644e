"""Takes solutions out when an assignment is made: the course's own clearing, inside CUDA text too, STARTER and all."""

from __future__ import annotations

import re

from nbformat.notebooknode import NotebookNode
from nbgrader.utils import is_solution

from grader.class_file import Unmeasured
from grader.nbgrader_plugin.policy import SpeedPolicy
from grader.release.clearing import clear, has_solution
from grader.release.jupyter_edition import SPEED

__all__ = ["ClearAnswers"]

WRITTEN_ANSWER = "*Your answer here.*"


class ClearAnswers(SpeedPolicy):
    """In place of nbgrader's ClearSolutions: `generate_assignment` fails where a solution would be let out."""

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """The notebook without solutions, and without speed goals where the class waives them."""
        if self.unmeasured_speed == Unmeasured.WAIVE:
            nb.cells = [cell for cell in nb.cells if not re.match(rf"# check: \S+ goal={SPEED} ", cell.source)]
        return super().preprocess(nb, resources)

    def preprocess_cell(self, cell: NotebookNode, resources: dict, index: int) -> tuple[NotebookNode, dict]:
        """The cell without its solution.

        Raises:
            ValueError: a marker without its partner, markers in a cell that is no solution cell, or a solution cell
                without any.
        """
        marked = has_solution(cell.source) or "BEGIN SOLUTION" in cell.source
        if marked and not is_solution(cell):
            raise ValueError(f"cell {index + 1} holds a solution, but is no solution cell")
        if not is_solution(cell):
            return cell, resources
        if not marked:
            raise ValueError(f"cell {index + 1} is a solution cell without BEGIN SOLUTION: nothing would be taken out")
        cell.source = clear(cell.source) if cell.cell_type == "code" else WRITTEN_ANSWER
        return cell, resources
