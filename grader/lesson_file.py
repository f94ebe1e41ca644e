"""A lesson's file as text with answers in it: finds the literals that a student types and replaces one of them.

Every byte outside the replaced literal stays as it was. Nothing is imported or run; a file that does not parse is
refused rather than guessed at.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = [
    "LessonProblem",
    "Literal",
    "find_literals",
    "lesson_path",
    "read_lesson",
    "replace_literals",
    "text_literal",
]

INDENT = "    "


class LessonProblem(ValueError):
    """Why an answer cannot be found or put into a lesson; the message is for the student."""


@dataclass(frozen=True, slots=True)
class Literal:
    """Where one answer stands in a file: characters [start, end) of its value, and the value's text as in its cell."""

    name: str
    start: int
    end: int
    line: int
    indent: str
    text: str

    @property
    def value(self) -> object:
        """The value as Python reads it, marimo's indentation already taken away."""
        return ast.literal_eval(self.text)


def lesson_path(folder: Path, lesson: str) -> Path:
    """The file of a lesson, `lessons/01_thread_mapping.py` for "01_thread_mapping" or "thread_mapping"."""
    exact = folder / f"{lesson}.py"
    if exact.exists():
        return exact
    numbered = sorted(p for p in folder.glob(f"*_{lesson}.py") if re.fullmatch(rf"\d+_{re.escape(lesson)}", p.stem))
    if not numbered:
        raise LessonProblem(f"there is no lesson {lesson} in {folder}")
    return numbered[0]


def read_lesson(path: Path) -> str:
    """The file's text with its line ends kept, so that writing it back changes nothing else."""
    try:
        with open(path, encoding="utf-8", newline="") as source:
            return source.read()
    except (OSError, UnicodeDecodeError) as error:
        raise LessonProblem(f"{path} cannot be read: {error}") from error


def find_literals(text: str, names: Iterable[str] | None = None) -> dict[str, Literal]:
    """The plain assignments `name = …` at the top level of cells, by name; only `names` when given.

    Raises:
        LessonProblem: the file does not parse, or one of `names` is assigned more than once.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise LessonProblem(f"the notebook's Python does not parse: {error}") from error
    wanted = None if names is None else set(names)
    starts = _line_starts(text)
    found: dict[str, Literal] = {}
    for body, indent in _cell_bodies(tree):
        for node in body:
            if not (isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)):
                continue
            name = node.targets[0].id
            if wanted is not None and name not in wanted:
                continue
            if name in found and wanted is not None:
                raise LessonProblem(f"`{name}` is assigned in line {found[name].line} and again in line {node.lineno}")
            found[name] = _literal(text, starts, name, node.value, indent)
    return found


def replace_literals(text: str, new: Mapping[str, str]) -> str:
    """`text` with the value of each name replaced by an expression as it stands in a cell, indented to its place.

    Raises:
        LessonProblem: a name is not assigned in the file, or the file does not parse.
    """
    literals = find_literals(text, new)
    missing = sorted(set(new) - set(literals))
    if missing:
        raise LessonProblem(f"nothing assigns `{missing[0]}` in the notebook")
    ends = "\r\n" if "\r\n" in text else "\n"
    for literal in sorted(literals.values(), key=lambda item: item.start, reverse=True):
        value = _indented(new[literal.name], literal.indent).replace("\n", ends)
        text = text[: literal.start] + value + text[literal.end :]
    return text


def text_literal(cuda: str, like: str = '\n"""') -> str:
    """CUDA text as a raw triple-quoted string that starts and ends like the one it replaces.

    Args:
        cuda: the text.
        like: the old text, whose blank first line and last line are kept.

    Raises:
        LessonProblem: no raw string can hold the text.
    """
    body = cuda.replace("\r\n", "\n").strip("\n")
    for quotes in ('"""', "'''"):
        if quotes not in body and not body.endswith((quotes[0], "\\")):
            first = "\n" if like.startswith("\n") or "\n" not in like else ""
            last = "\n" if like.rstrip(" ").endswith("\n") or "\n" not in like else ""
            return f"r{quotes}{first}{body}{last}{quotes}"
    raise LessonProblem("the text holds both kinds of triple quotes or ends in a backslash; take one of them out")


def _cell_bodies(tree: ast.Module) -> list[tuple[list[ast.stmt], str]]:
    """Statements of every cell with the indentation that they have in the file."""
    bodies: list[tuple[list[ast.stmt], str]] = []
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and any(map(_is_cell, node.decorator_list)):
            bodies.append((node.body, INDENT))
        elif isinstance(node, ast.With) and any(_is_app_member(item.context_expr) for item in node.items):
            bodies.append((node.body, INDENT))
    return bodies


def _is_cell(decorator: ast.expr) -> bool:
    call = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(call, ast.Attribute) and call.attr == "cell"


def _is_app_member(expression: ast.expr) -> bool:
    call = expression.func if isinstance(expression, ast.Call) else expression
    return isinstance(call, ast.Attribute) and call.attr == "setup"


def _literal(text: str, starts: list[int], name: str, node: ast.expr, indent: str) -> Literal:
    start = _offset(text, starts, node.lineno, node.col_offset)
    end = _offset(text, starts, node.end_lineno or node.lineno, node.end_col_offset or 0)
    value = _unindented(text[start:end].replace("\r\n", "\n"), indent)
    return Literal(name, start, end, node.lineno, indent, value)


def _unindented(value: str, indent: str) -> str:
    first, *rest = value.split("\n")
    return "\n".join([first, *(line.removeprefix(indent) for line in rest)])


def _indented(value: str, indent: str) -> str:
    first, *rest = value.split("\n")
    return "\n".join([first, *(indent + line if line.strip() else "" for line in rest)])


def _line_starts(text: str) -> list[int]:
    """Character offset of each line, as Python's tokenizer counts lines."""
    starts = [0]
    starts += [match.end() for match in re.finditer(r"\r\n|\r|\n", text)]
    return starts


def _offset(text: str, starts: list[int], line: int, column_bytes: int) -> int:
    """Character offset of a place that `ast` gives as a line and a column in UTF-8 bytes."""
    start = starts[line - 1]
    end = starts[line] if line < len(starts) else len(text)
    return start + len(text[start:end].encode("utf-8")[:column_bytes].decode("utf-8"))
