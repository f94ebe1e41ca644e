"""Which cell holds which answer: a graded name must be assigned once, at the top level of a cell, from a literal."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from grader.answers import AnswerNames, answer_names, launch_problem, submit
from grader.model import Exercise, Submission, Unreadable
from grader.notebook import Notebook
from grader.notebook.cells import Cell
from grader.notebook.literals import LiteralProblem, read_literal
from simt.diagnostics import Diagnostic

__all__ = ["find_answers"]


@dataclass(frozen=True, slots=True)
class Binding:
    """One place that gives a name a value; `value` is its expression, None where it is no plain assignment."""

    name: str
    place: str
    line: int
    value: ast.expr | None = None


def find_answers(
    path: str, cells: Sequence[Cell], exercises: Sequence[Exercise] | None, fixture: Mapping[str, str]
) -> Notebook:
    """The answers in `cells`, for `exercises` or those of the lesson that the cells belong to."""
    from grader.exercises import UnknownExercise, all_exercises, exercise

    notes = []
    for cell in cells:
        if cell.marker and not any(row.id == cell.marker for row in exercises or ()):
            try:
                exercise(cell.marker)
            except UnknownExercise as error:
                notes.append(f"{cell.place}, line {cell.line}: {error}")
    bindings = [_bindings_in(cell) for cell in cells]
    stems = {exercise_id: stem for stem, exercise_id in fixture.items()}
    known = all_exercises()
    wanted = exercises if exercises is not None else _of_lesson(path, cells, list(chain(*bindings)), known)
    answers = {}
    for row in wanted:
        names = answer_names(row, stems.get(row.id))
        rivals = _rivals(row, names, (*known, *wanted))
        mine = [pair for pair in zip(cells, bindings, strict=True) if not _is_of(rivals, pair[0], path)]
        found = list(chain.from_iterable(bound for _, bound in mine))
        answers[row.id] = _answer(path, row, names, [cell for cell, _ in mine], found)
    return Notebook(path, answers, _suspicion(cells, answers), tuple(notes))


def _of_lesson(
    path: str, cells: Sequence[Cell], bindings: Sequence[Binding], known: Sequence[Exercise]
) -> list[Exercise]:
    """The exercises of every lesson that the file's name or a marker belongs to; without either, that a variable does."""
    names = {binding.name for binding in bindings}
    markers = {cell.marker for cell in cells}
    stem = Path(path).stem
    # Lessons share names such as `predict_values`, so a variable speaks only where nothing better does.
    lessons = {row.lesson for row in known if row.lesson == stem or row.id in markers} or {
        row.lesson for row in known if row.lesson != "selftest" and names & set(answer_names(row))
    }
    return [row for row in known if row.lesson in lessons]


def _rivals(row: Exercise, names: AnswerNames, known: Sequence[Exercise]) -> list[Exercise]:
    """The exercises of other lessons whose answer goes by the same name: every lesson has its `predict_values`."""
    return [other for other in known if other.lesson != row.lesson and set(names) & set(answer_names(other))]


def _is_of(rivals: Sequence[Exercise], cell: Cell, path: str) -> bool:
    """The cell answers one of `rivals`, by its marker or, without one, by the lesson that the file is."""
    stem = Path(path).stem
    return any(cell.marker == rival.id or not cell.marker and stem == rival.lesson for rival in rivals)


def _suspicion(cells: Sequence[Cell], answers: Mapping[str, Submission | Unreadable]) -> str:
    if not any(cell.text.strip() for cell in cells):
        return "the file has no cells: it looks emptied by accident, so an earlier submission should stand"
    if answers and all(isinstance(answer, Unreadable) and answer.missing for answer in answers.values()):
        return "none of the exercises is in the file: is it the right one?"
    return ""


def _answer(
    path: str, row: Exercise, names: AnswerNames, cells: Sequence[Cell], bindings: Sequence[Binding]
) -> Submission | Unreadable:
    for cell in cells:
        if cell.error and (cell.marker == row.id or _mentions(cell.text, names)):
            line, message = cell.error
            return Unreadable(
                row.id,
                f"the cell does not parse: {message} (line {line})",
                "the error is in the Python around the CUDA text: a quote or a bracket that is not closed",
                cell.place,
                (line,),
            )
    found: dict[str, Binding] = {}
    for name in names:
        places = [binding for binding in bindings if binding.name == name]
        if problem := _binding_problem(path, row, name, places, cells):
            return problem
        found[name] = places[0]
    return _submission(row, names, found)


def _mentions(text: str, names: AnswerNames) -> bool:
    return any(re.search(rf"^\s*{re.escape(name)}\s*=", text, re.MULTILINE) for name in names)


def _binding_problem(
    path: str, row: Exercise, name: str, places: Sequence[Binding], cells: Sequence[Cell]
) -> Unreadable | None:
    if not places:
        marked = [cell for cell in cells if cell.marker == row.id]
        if marked:
            cell = marked[0]
            message = f"the exercise's cell has no `{name} = …`"
            return Unreadable(row.id, message, f"assign `{name}` there again", cell.place, (cell.line,))
        message = f"the exercise is missing: nothing assigns `{name}`"
        return Unreadable(row.id, message, "put its cell back (`reset` gives the starter)", path, missing=True)
    lines = tuple(binding.line for binding in places)
    if len(places) > 1:
        where = " and ".join(_where(binding, path) for binding in places)
        message = f"`{name}` is assigned {len(places)} times: {where}"
        return Unreadable(row.id, message, "delete all but the one that counts", places[0].place, lines)
    if places[0].value is None:
        message = f"`{name}` gets its value in line {lines[0]} from something else than `{name} = …` in a cell"
        return Unreadable(row.id, message, "assign it once, at the cell's top level", places[0].place, lines)
    return None


def _where(binding: Binding, path: str) -> str:
    inside = binding.place.removeprefix(path).lstrip(", ")
    return f"{inside} line {binding.line}" if inside else f"line {binding.line}"


def _submission(row: Exercise, names: AnswerNames, found: Mapping[str, Binding]) -> Submission | Unreadable:
    source: object = ""
    launch: object = None
    values: object = None
    origin: tuple[str, int] | None = None
    problems: tuple[Diagnostic, ...] = ()
    for name, binding in found.items():
        assert binding.value is not None
        origin = origin or (binding.place, binding.line)
        try:
            value = read_literal(binding.value)
        except LiteralProblem as problem:
            if name == names.launch:
                problems = (launch_problem(problem),)
                continue
            line = problem.line or binding.line
            message = f"`{name}` is not a plain literal: {problem.message} (line {line})"
            return Unreadable(row.id, message, problem.help, binding.place, (line,))
        if name == names.source:
            source, origin = value, (binding.place, binding.value.lineno)
        elif name == names.launch:
            launch = value
        else:
            values = value
    return submit(row, source, launch, values, origin=origin, problems=problems)


def _bindings_in(cell: Cell) -> list[Binding]:
    return [binding for statement in cell.body for binding in _bindings(statement, cell.place)]


def _bindings(statement: ast.stmt, place: str) -> Iterator[Binding]:
    """Every name that `statement` binds, however deep; only a plain `name = value` keeps its value."""
    plain: ast.Name | None = None
    match statement:
        case ast.Assign(targets=[ast.Name() as target], value=value):
            plain = target
            yield Binding(target.id, place, statement.lineno, value)
        case ast.AnnAssign(target=ast.Name() as target, value=ast.expr() as value):
            plain = target
            yield Binding(target.id, place, statement.lineno, value)
    for node in ast.walk(statement):
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) if node is not plain:
                yield Binding(name, place, node.lineno)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield Binding(name, place, node.lineno)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                for alias in aliases:
                    yield Binding((alias.asname or alias.name).split(".")[0], place, node.lineno)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield Binding(name, place, node.lineno)
            case ast.MatchMapping(rest=str(name)):
                yield Binding(name, place, node.lineno)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                for name in names:
                    yield Binding(name, place, node.lineno)
