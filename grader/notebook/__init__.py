"""Answers out of notebooks by reading them: .py (marimo) and .ipynb, with ast and json only, never run.

`read_notebook` gives each exercise's `Submission`, or an `Unreadable` that says which lines stop it; one broken answer
costs no other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.model import Exercise, Submission, Unreadable
from grader.notebook.cells import Cell, NotebookProblem

__all__ = ["MAX_NOTEBOOK_BYTES", "Notebook", "NotebookProblem", "read_notebook", "read_notebook_bytes"]

MAX_NOTEBOOK_BYTES = 2 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Notebook:
    """What one file holds.

    Attributes:
        path: the file.
        answers: by exercise id, in the order of the course; a missing answer is an `Unreadable` too.
        suspicious: why the file looks like an accident (no cells, no answer at all), or "": then an earlier
            submission should stand.
        notes: what else a reader should know, such as a marker with an unknown id.
    """

    path: str
    answers: Mapping[str, Submission | Unreadable]
    suspicious: str = ""
    notes: tuple[str, ...] = ()


def read_notebook(
    path: str | Path,
    exercises: Sequence[Exercise] | None = None,
    fixture: Mapping[str, str] | None = None,
) -> Notebook:
    """The answers in the file at `path`.

    Args:
        path: a .py or .ipynb file.
        exercises: what it should answer; None for those of the lesson that it is.
        fixture: variable -> exercise id for files that have names of their own and no `# exercise:` lines.

    Raises:
        NotebookProblem: no such file, not readable, too large, not text, or no notebook.
    """
    path = Path(path)
    try:
        if not path.is_file():
            what = "a folder" if path.is_dir() else "no file"
            raise NotebookProblem(f"{path} is {what}", "give the path of a .py or .ipynb file")
        _check_size(path, path.stat().st_size)
        with path.open("rb") as file:
            data = file.read(MAX_NOTEBOOK_BYTES + 1)  # it may have grown since
    except OSError as error:
        raise NotebookProblem(
            f"{path} cannot be read: {error.strerror}", "ask whoever owns it for the right to"
        ) from error
    return read_notebook_bytes(data, path, exercises, fixture)


def read_notebook_bytes(
    data: bytes,
    path: str | Path,
    exercises: Sequence[Exercise] | None = None,
    fixture: Mapping[str, str] | None = None,
) -> Notebook:
    """The answers in a file's bytes; `path` is what it is called. Everything else as for `read_notebook`."""
    from grader.notebook.finding import find_answers

    path = Path(path)
    _check_size(path, len(data))
    return find_answers(str(path), _cells(path, _text(path, data)), exercises, fixture or {})


def _check_size(path: Path, size: int) -> None:
    if size > MAX_NOTEBOOK_BYTES:
        raise NotebookProblem(
            f"{path} is {size} bytes long, more than the {MAX_NOTEBOOK_BYTES} that are read",
            "clear the notebook's outputs and save it again",
        )


def _text(path: Path, data: bytes) -> str:
    try:
        return re.sub("\r\n?", "\n", data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise NotebookProblem(f"{path} is not UTF-8 text (byte {error.start})", "save it as UTF-8") from None


def _cells(path: Path, text: str) -> tuple[Cell, ...]:
    match path.suffix:
        case ".py":
            from grader.notebook.marimo_file import marimo_cells

            return marimo_cells(text, str(path))
        case ".ipynb":
            from grader.notebook.jupyter_file import jupyter_cells

            return jupyter_cells(text, str(path))
    raise NotebookProblem(f"{path} is neither a .py nor an .ipynb file", "hand in the notebook itself")
