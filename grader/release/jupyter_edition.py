"""The nbgrader edition of a lesson, from the same solution: answers, test cells, questions for a person to grade.

| in the solution | in the notebook |
|---|---|
| imports | a locked cell that finds the course, then the imports without marimo |
| `# exercise: ID` | a solution cell, its markers left in: `ClearAnswers` takes the solution out when the assignment is made |
| `check("ID", …)`, `predict("ID", …)` | a locked test cell that begins `# check: ID points=N` |
| Markdown | Markdown; a question under *Reflect* becomes one that a person grades, its answer left out |
| `figure("NAME")` | the same cell: Jupyter shows no attached SVG, and one within the page takes the colours of its theme |
| a widget | left out; the chart it moved stays, as it looks at first |

The same solution gives the same bytes: cell ids come from the lesson's name and the cell's number.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from grader.exercises import exercise
from grader.model import Exercise
from grader.notebook.cells import marker_of
from grader.release.marimo_form import Cell, parse
from grader.release.names import definitions, references
from grader.release.static_cells import at_rest, imports_without_marimo, markdown_of, only_imports_of, slider_values

__all__ = ["EditionError", "REFLECTION_POINTS", "SPEED", "notebook_of"]

REFLECTION_POINTS = 1
SPEED = "speedup"
IMPORTS = "imports"
_CALLS = ("check", "predict")
_REFLECT = "## Reflect"
_FOLD = re.compile(r"<details>.*?</details>", re.DOTALL)
_ANSWER_HERE = "BEGIN SOLUTION\n{answer}\nEND SOLUTION"

IN_JUPYTER = """\
*The Jupyter edition of this lesson. Run its cells from top to bottom with Shift+Enter; a `check` cell judges the answer
above it, as often as you run both. Where the text speaks of sliders, the picture stands still: change the numbers in its
cell instead.*"""
FIND_COURSE = """\
# Finds the course: installed, or in a folder above this notebook, or in the bundle beside it (Colab: upload that file).
import importlib.util, pathlib, subprocess, sys

_here = pathlib.Path.cwd().resolve()
for _folder in (_here / "warpwise", *_here.parents):
    if (_folder / "grader" / "lesson.py").exists() and str(_folder) not in sys.path:
        sys.path.insert(0, str(_folder))
_missing = [name for name in ("grader", "altair", "llvmlite") if importlib.util.find_spec(name) is None]
if "grader" in _missing and not pathlib.Path("warpwise.zip").exists():
    raise SystemExit("The course is not here. Put warpwise.zip beside this notebook and run this cell again.")
if _missing and pathlib.Path("warpwise.zip").exists():
    subprocess.run([sys.executable, "-m", "zipfile", "-e", "warpwise.zip", "."], check=True)
    sys.path.insert(0, str(pathlib.Path("warpwise").resolve()))
    import course  # knows which CuPy this machine's driver takes; none without a GPU

    _groups = ["simt", "learn", "jupyter", course.gpu_group(course.cuda_driver())]
    _wanted = f"./warpwise[{','.join(filter(None, _groups))}]"
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "-c", "warpwise/requirements.txt", _wanted], check=True
    )
from grader.charts.still import draw_still

draw_still();
"""


class EditionError(ValueError):
    """A solution that has no nbgrader form; names the cell."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """One cell to be: its source, nbgrader's metadata (None for a plain cell)."""

    kind: str  # "code" or "markdown"
    source: str
    nbgrader: dict[str, object] | None = None


def notebook_of(solution: str, lesson: str, assets: Path) -> str:
    """The .ipynb text of a lesson's nbgrader edition, solutions and all: it belongs into `nbgrader/source/`.

    Args:
        solution: text of `solutions/LESSON.py`.
        lesson: its name, from which cell ids are derived.
        assets: folder of the drawings.

    Raises:
        EditionError: a `check` names no exercise, or a drawing is missing.
        grader.release.marimo_form.NotebookFormError: the solution is no notebook.
    """
    import nbformat
    from nbformat import v4

    cells = parse(solution).cells
    sliders = slider_values(cell.code for cell in cells)
    pieces = [_Piece("markdown", IN_JUPYTER), _locked("find-course", FIND_COURSE)]
    for cell in cells:
        pieces += _pieces(cell, sliders, lesson, assets)
    pieces = _in_order(_with_needed_imports(pieces))
    notebook = v4.new_notebook(metadata=_METADATA)
    notebook.cells = [_cell(piece, lesson, number) for number, piece in enumerate(pieces)]
    nbformat.validate(notebook)
    return nbformat.writes(notebook) + "\n"


_METADATA = {
    # What Colab starts the notebook on; it runs without a GPU too.
    "accelerator": "GPU",
    "colab": {"gpuType": "T4", "provenance": []},
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def _with_needed_imports(pieces: list[_Piece]) -> list[_Piece]:
    """Without the names that only a widget's cell used."""
    used = {name for piece in pieces if piece.kind == "code" for name in references(piece.source)}
    return [
        replace(piece, source=only_imports_of(piece.source, lambda alias: (alias.asname or alias.name) in used))
        if piece.nbgrader and piece.nbgrader["grade_id"] == IMPORTS
        else piece
        for piece in pieces
    ]


def _in_order(pieces: list[_Piece]) -> list[_Piece]:
    """Jupyter runs from top to bottom: a chart of an answer that stands further down goes behind that answer's test."""
    coming = {name for piece in pieces if piece.kind == "code" for name in definitions(piece.source)}
    defined: set[str] = set()
    ordered: list[_Piece] = []
    waiting: list[_Piece] = []
    for piece in pieces:
        if piece.kind == "code" and (references(piece.source) & coming) - defined:
            waiting.append(piece)
            continue
        ordered.append(piece)
        defined |= definitions(piece.source) if piece.kind == "code" else set()
        if piece.nbgrader and piece.nbgrader["solution"] and piece.kind == "code":
            continue  # its test comes first
        ready = [one for one in waiting if not (references(one.source) & coming) - defined]
        waiting = [one for one in waiting if one not in ready]
        ordered += ready
        defined |= {name for one in ready for name in definitions(one.source)}
    if waiting:
        first = waiting[0].source.splitlines()[0]
        raise EditionError(f"the cell `{first}` needs what no cell before it can give")
    return ordered


def _pieces(cell: Cell, sliders: dict[str, ast.expr], lesson: str, assets: Path) -> Iterator[_Piece]:
    code = cell.code
    if exercise_id := marker_of(code):
        yield _Piece("code", code, _metadata(f"answer-{_slug(exercise_id)}", solution=True))
    elif (text := markdown_of(code)) is not None:
        yield from _markdown(text, lesson)
    elif (imports := imports_without_marimo(code)) is not None:
        yield _locked(IMPORTS, imports)
    elif called := _checked(code):
        yield from _tests(called, code)
    elif (static := at_rest(code, sliders)) is not None:
        yield _Piece("code", _with_its_drawing(static, assets))


def _tests(exercise_id: str, code: str) -> Iterator[_Piece]:
    """A test cell for correctness and counted goals, one more for each goal that only a clock can settle."""
    try:
        row = exercise(exercise_id)
    except LookupError as error:
        raise EditionError(f"`{code.strip()}`: {error}") from error
    speed = sum(goal.points for goal in row.goals if goal.metric == SPEED)
    yield _test(row, code, _most(row) - speed, "")
    if speed:
        yield _test(row, code, speed, f" goal={SPEED}")


def _most(row: Exercise) -> float:
    return row.points + sum(goal.points for goal in row.goals)


def _test(row: Exercise, code: str, points: float, goal: str) -> _Piece:
    source = f"# check: {row.id}{goal} points={points:g}\n{code}"
    name = f"check-{_slug(row.id)}{'-' + SPEED if goal else ''}"
    return _Piece("code", source, _metadata(name, grade=True, locked=True, points=points))


def _markdown(text: str, lesson: str) -> Iterator[_Piece]:
    """Markdown as it is, or with each question under *Reflect* followed by a cell for its answer."""
    before, found, rest = text.partition(_REFLECT)
    if not found:
        yield _Piece("markdown", text)
        return
    question = before + found
    number = 0
    for part in re.split(rf"({_FOLD.pattern})", rest, flags=re.DOTALL):
        if not part.startswith("<details>"):
            question += part
            continue
        number += 1
        yield _Piece("markdown", question.strip())
        yield _reflection(f"reflect-{_slug(lesson)}-{number}", part)
        question = ""
    if question.strip():
        yield _Piece("markdown", question.strip())


def _reflection(name: str, fold: str) -> _Piece:
    answer = re.sub(r"</?details>|<summary>.*?</summary>", "", fold).strip()
    metadata = _metadata(name, grade=True, solution=True, points=REFLECTION_POINTS)
    return _Piece("markdown", _ANSWER_HERE.format(answer=answer), metadata)


def _with_its_drawing(code: str, assets: Path) -> str:
    """A cell as it is; where it shows `figure("NAME")`, that drawing has to be there."""
    match ast.parse(code).body:
        case [ast.Expr(ast.Call(ast.Name("figure"), [ast.Constant(str(name)), *_]))] if not (
            assets / f"{name}.svg"
        ).is_file():
            raise EditionError(f"the drawing {name}.svg is not in {assets}")
    return code


def _checked(code: str) -> str:
    """The exercise that a cell `check("ID", …)` judges, or ""."""
    match ast.parse(code).body:
        case [ast.Expr(ast.Call(ast.Name(name), [ast.Constant(str(exercise_id)), *_]))] if name in _CALLS:
            return exercise_id
    return ""


def _locked(name: str, source: str) -> _Piece:
    return _Piece("code", source, _metadata(name, locked=True))


def _metadata(
    name: str, *, grade: bool = False, solution: bool = False, locked: bool = False, points: float | None = None
) -> dict[str, object]:
    """nbgrader's metadata of a cell, schema 3."""
    flags = {
        "grade": grade,
        "grade_id": name,
        "locked": locked,
        "schema_version": 3,
        "solution": solution,
        "task": False,
    }
    return flags if points is None else {**flags, "points": points}


def _cell(piece: _Piece, lesson: str, number: int):
    from nbformat import v4

    make = v4.new_code_cell if piece.kind == "code" else v4.new_markdown_cell
    cell = make(piece.source, id=hashlib.sha256(f"{lesson}/{number}".encode()).hexdigest()[:12])
    if piece.nbgrader:
        cell.metadata["nbgrader"] = piece.nbgrader
    return cell


def _slug(name: str) -> str:
    return name.replace(".", "-").replace("_", "-")
