"""The answers of a marimo lesson in the notebook that nbgrader released, so that either edition can be handed in.

An answer's cell is taken over whole. The result is read as the grader will read it, and must hold the same answers;
otherwise nothing is written.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.lesson_file import INDENT
from grader.model import Submission
from grader.notebook import Notebook, NotebookProblem, read_notebook_bytes
from grader.notebook.cells import Cell, marker_of
from grader.notebook.marimo_file import marimo_cells
from grader.whole_file import write_whole

__all__ = ["HandedIn", "HandInProblem", "put_answers"]


class HandInProblem(ValueError):
    """Why nothing was written; the message is for the student."""


@dataclass(frozen=True, slots=True)
class HandedIn:
    """What was put where.

    Attributes:
        notebook: the file that was written.
        kept: the file as it was before.
        answered: exercises whose answer is in the notebook now.
        unreadable: exercise → why the lesson's answer cannot be read; its cell was taken over as it stands.
        missing: exercises of the notebook that the lesson has no cell for.
    """

    notebook: Path
    kept: Path
    answered: tuple[str, ...]
    unreadable: Mapping[str, str]
    missing: tuple[str, ...]


def put_answers(lesson: Path, notebook: Path) -> HandedIn:
    """Writes the answers of `lesson` (a marimo .py) into `notebook` (a released .ipynb), which is kept beside it.

    Raises:
        HandInProblem: one of the files is not what it should be, or the notebook would not hold the same answers.
    """
    code = _text(lesson).replace("\r\n", "\n")
    document = _document(notebook)
    given = {cell.marker: _as_jupyter(cell) for cell in marimo_cells(code, str(lesson)) if cell.marker}
    placed: list[str] = []
    missing: list[str] = []
    for cell in document["cells"]:
        exercise_id = marker_of(_source(cell)) if cell.get("cell_type") == "code" else ""
        if exercise_id in given:
            cell["source"], cell["outputs"], cell["execution_count"] = given[exercise_id], [], None
            placed.append(exercise_id)
        elif exercise_id:
            missing.append(exercise_id)
    if not placed:
        raise HandInProblem(
            f"{notebook} has no cell for any answer of {lesson.name}; is it the notebook of this lesson?"
        )
    text = json.dumps(document, ensure_ascii=False, indent=1) + "\n"
    problems = _differences(_read(lesson, code), _read(notebook, text), placed)
    kept = _free_name(notebook)
    kept.write_bytes(notebook.read_bytes())
    write_whole(notebook, text)
    answered = tuple(one for one in placed if one not in problems)
    return HandedIn(notebook, kept, answered, problems, tuple(missing))


def _differences(before: Notebook, after: Notebook, placed: list[str]) -> dict[str, str]:
    """Exercise → why its answer cannot be read, in either file alike; raises where the two differ."""
    unreadable: dict[str, str] = {}
    for exercise_id in placed:
        one, other = before.answers.get(exercise_id), after.answers.get(exercise_id)
        if isinstance(one, Submission) and isinstance(other, Submission) and one.digest == other.digest:
            continue
        if one is None or other is None or isinstance(one, Submission) or isinstance(other, Submission):
            raise HandInProblem(f"the notebook would not hold the same answer to {exercise_id}; nothing was written")
        unreadable[exercise_id] = one.message
    return unreadable


def _as_jupyter(cell: Cell) -> str:
    """A marimo cell's text at column 0 and without the `return` that marimo adds."""
    lines = cell.text.split("\n")
    indented = bool(cell.body) and cell.body[0].col_offset == len(INDENT)
    if cell.body and isinstance(cell.body[-1], ast.Return):
        lines = lines[: cell.body[-1].lineno - cell.line]
    if indented:
        lines = [line.removeprefix(INDENT) for line in lines]
    return "\n".join(lines).strip("\n")


def _read(path: Path, text: str) -> Notebook:
    try:
        return read_notebook_bytes(text.encode("utf-8"), path)
    except NotebookProblem as problem:
        raise HandInProblem(f"{problem.message}; {problem.help}") from problem


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise HandInProblem(f"{path} cannot be read: {error}") from error


def _document(path: Path) -> dict:
    try:
        document = json.loads(_text(path))
    except ValueError as error:
        raise HandInProblem(f"{path} is no notebook: {error}") from error
    if not isinstance(document, dict) or not isinstance(document.get("cells"), list):
        raise HandInProblem(f"{path} is no notebook: it has no list of cells")
    return document


def _source(cell: dict) -> str:
    source = cell.get("source", "")
    return source if isinstance(source, str) else "".join(source)


def _free_name(notebook: Path) -> Path:
    """`NAME.before-1.txt`, or the next number that is free; no .ipynb, since nbgrader would collect it."""
    number = 1
    while (kept := notebook.with_name(f"{notebook.stem}.before-{number}.txt")).exists():
        number += 1
    return kept
