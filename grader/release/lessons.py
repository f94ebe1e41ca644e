"""What is derived from solutions: lessons (the same notebooks, cleared, in marimo's own form) and the nbgrader edition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from grader.release.clearing import ClearingError, clear
from grader.release.jupyter_edition import notebook_of
from grader.release.marimo_form import Cell, NotebookFormError, emit, parse
from grader.release.starters import starters_json, starters_of

__all__ = ["Difference", "Release", "ReleaseError", "build", "compare", "lesson_of", "write"]

STARTERS = "grader/assets/starters.json"


class ReleaseError(ValueError):
    """A solution that cannot be released; names the file and what is wrong in it."""


@dataclass(frozen=True, slots=True)
class Release:
    """Everything that is derived: path relative to the top → text."""

    files: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Difference:
    """A derived file that is not as it should be: "missing", "stale" or "not derived from any solution"."""

    path: str
    what: str


def lesson_of(solution: str) -> str:
    """A lesson's text from a solution's.

    Raises:
        ClearingError, NotebookFormError: the solution's markers or form are wrong.
    """
    notebook = parse(solution)
    return emit(notebook.with_cells([replace(cell, code=_cleared(cell)) for cell in notebook.cells]))


def _cleared(cell: Cell) -> str:
    try:
        return clear(cell.code)
    except ClearingError as error:
        first = cell.code.split("\n", 1)[0].strip()
        raise ClearingError(f"in the cell `{first}`, {error}") from error


def build(top: Path) -> Release:
    """Derives everything from `solutions/` under `top`; the same solutions give the same bytes.

    Raises:
        ReleaseError: naming the solution that is at fault.
    """
    files: dict[str, str] = {}
    starters: dict[str, dict[str, str]] = {}
    for path in _solutions(top):
        try:
            solution = path.read_text(encoding="utf-8")
            lesson = lesson_of(solution)
            edition = notebook_of(solution, path.stem, top / "assets")
            starters |= starters_of(lesson)
        except (ClearingError, NotebookFormError, OSError, ValueError) as error:
            raise ReleaseError(f"{path.relative_to(top)}: {error}") from error
        files[f"lessons/{path.name}"] = lesson
        files[f"nbgrader/source/{path.stem}/{path.stem}.ipynb"] = edition
    if files:
        files[STARTERS] = starters_json(starters)
    return Release(files)


def compare(top: Path, release: Release) -> Iterator[Difference]:
    """Where the tree under `top` differs from `release`."""
    for name, text in release.files.items():
        path = top / name
        if not path.exists():
            yield Difference(name, "missing")
        elif path.read_text(encoding="utf-8") != text:
            yield Difference(name, "stale")
    for path in sorted((top / "lessons").glob("*.py")):
        name = f"lessons/{path.name}"
        if name not in release.files and not path.name.endswith((".new.py", ".old.py")):
            yield Difference(name, "not derived from any solution")


def write(top: Path, release: Release) -> list[str]:
    """Writes what differs; returns the names written. A lesson without a solution is left for a person to delete."""
    written = []
    for name, text in release.files.items():
        path = top / name
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        written.append(name)
    return written


def _solutions(top: Path) -> list[Path]:
    """Notebooks right in `solutions/`; mutants and other folders in it are no lessons."""
    return sorted(path for path in (top / "solutions").glob("*.py") if path.name != "__init__.py")
