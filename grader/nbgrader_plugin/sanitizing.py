"""Makes nbgrader's metadata safe before OverwriteCells: a cell that is not one of the assignment's has none.

nbgrader 0.9.6 stops with KeyError 'grade_id' at such a cell when `add_missing_cells` is on: DeduplicateIds leaves empty
metadata on a copied cell, and OverwriteCells takes the id from one that a student made up.
"""

from __future__ import annotations

from nbformat.notebooknode import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.preprocessors import NbGraderPreprocessor

__all__ = ["ForgetStrangers"]


class ForgetStrangers(NbGraderPreprocessor):
    """Stands between DeduplicateIds and OverwriteCells; the cells themselves stay."""

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """The notebook with nbgrader's metadata on the cells of the released one alone."""
        facts = resources["nbgrader"]
        with Gradebook(facts["db_url"]) as gradebook:
            source = gradebook.find_notebook(facts["notebook"], facts["assignment"])
            known = {cell.name for cell in source.source_cells}
        for cell in nb.cells:
            if cell.metadata.get("nbgrader", {}).get("grade_id") not in known:
                cell.metadata.pop("nbgrader", None)
        return nb, resources
