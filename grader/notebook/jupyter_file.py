"""Cells of a Jupyter notebook (format 4), read as JSON; outputs and metadata are not looked at."""

from __future__ import annotations

import json

from grader.notebook.cells import Cell, NotebookProblem, check_size, marker_of, parse

__all__ = ["jupyter_cells", "without_duplicates"]


def jupyter_cells(text: str, place: str) -> tuple[Cell, ...]:
    """The code cells of the .ipynb `text`; lines count inside each cell, whose number stands in its place.

    Raises:
        NotebookProblem: not JSON, not a notebook, of a format older than 4, or too long to be parsed.
    """
    document = _json(text)
    if not isinstance(document, dict) or not isinstance(document.get("cells"), list):
        older = isinstance(document, dict) and "worksheets" in document
        raise NotebookProblem(
            "a notebook of format 3 or older" if older else "JSON, but not a notebook: it has no list of cells",
            "open it in Jupyter and save it again" if older else "hand in the .ipynb that Jupyter saved",
        )
    found = [
        (number, _source(cell))
        for number, cell in enumerate(document["cells"], 1)
        if isinstance(cell, dict) and cell.get("cell_type") == "code"
    ]
    check_size(source for _, source in found if source is not None)
    return tuple(_cell(source, f"{place}, cell {number}") for number, source in found)


def _json(text: str) -> object:
    try:
        return json.loads(text, object_pairs_hook=without_duplicates)
    except (ValueError, RecursionError, MemoryError) as error:
        raise NotebookProblem(f"not readable as JSON: {error}", "open it in Jupyter and save it again") from None


def without_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """The object of a JSON text, for `object_pairs_hook`; ValueError for a key that stands twice."""
    result = dict(pairs)
    if len(result) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return result


def _source(cell: dict) -> str | None:
    """The cell's text, None when it is none."""
    source = cell.get("source", "")
    if isinstance(source, list) and all(isinstance(part, str) for part in source):
        source = "".join(source)
    return source.replace("\r\n", "\n").replace("\r", "\n") if isinstance(source, str) else None


def _cell(source: str | None, place: str) -> Cell:
    if source is None:
        return Cell(place, 1, "", "", error=(1, "the cell's source is no text"))
    tree, error = parse(source)
    return Cell(place, 1, marker_of(source), source, tuple(tree.body) if tree else (), error)
