"""Cells of a marimo notebook, or of any Python file, read as text.

marimo keeps a cell that does not parse as `app._unparsable_cell("…")`: its name is lost, its text is not. Where the
whole file does not parse (someone edited it by hand), the cells are told apart by their `@app.cell` lines, so that a
broken one costs only itself.
"""

from __future__ import annotations

import ast
import re
import textwrap

from grader.notebook.cells import Cell, check_size, marker_of, parse

__all__ = ["marimo_cells"]

CELL_START = re.compile(r"^(@app\.|app\._unparsable_cell|with app\.setup|if __name__\b)", re.MULTILINE)


def marimo_cells(text: str, place: str) -> tuple[Cell, ...]:
    """The cells of the Python file `text`, called `place` in messages.

    Raises:
        NotebookProblem: it is too long to be parsed.
    """
    check_size([text])
    tree, error = parse(text)
    lines = text.split("\n")
    if tree is not None:
        return tuple(_cells_of(tree, lines, place))
    starts = [0, *(match.start() for match in CELL_START.finditer(text)), len(text)]
    cells: list[Cell] = []
    for start, end in zip(starts, starts[1:]):
        part, first_line = text[start:end], text.count("\n", 0, start) + 1
        tree, error = parse(part, first_line)
        if tree is not None:
            cells += _cells_of(tree, lines, place)
        elif error:
            cells.append(Cell(place, first_line, _marker_inside(part), part, error=error))
    return tuple(cells)


def _marker_inside(part: str) -> str:
    """The marker of a broken cell: its first line after the `def`."""
    header = re.search(r"^def .*:\s*$", part, re.MULTILINE)
    return marker_of(part[header.end() :] if header else part)


def _cells_of(tree: ast.Module, lines: list[str], place: str):
    loose = []
    for node in tree.body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() if any(map(_is_cell, node.decorator_list)):
                yield _block(node.body, node.lineno, node.end_lineno or node.lineno, lines, place)
            case ast.With() if any(_is_setup(item.context_expr) for item in node.items):
                yield _block(node.body, node.lineno, node.end_lineno or node.lineno, lines, place)
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(attr="_unparsable_cell"), args=[ast.Constant() as code, *_])
            ):
                if isinstance(code.value, str):
                    yield _unparsable(code.value, code.lineno, place)
            case _:
                loose.append(node)
    if loose:
        yield Cell(place, loose[0].lineno, "", "", tuple(loose))


def _is_cell(decorator: ast.expr) -> bool:
    """True for `@app.cell` and `@app.cell(…)`."""
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(target, ast.Attribute) and target.attr == "cell"


def _is_setup(context: ast.expr) -> bool:
    """True for `with app.setup:` and `with app.setup(…):`."""
    match context.func if isinstance(context, ast.Call) else context:
        case ast.Attribute(value=ast.Name(id="app"), attr="setup"):
            return True
    return False


def _block(body: list[ast.stmt], header: int, end: int, lines: list[str], place: str) -> Cell:
    """The cell whose statements are `body` and whose `def` or `with` starts in line `header`."""
    first = body[0].lineno
    while first - 1 > header and _is_comment_or_blank(lines[first - 2]):
        first -= 1
    text = "\n".join(lines[first - 1 : end])
    return Cell(place, first, marker_of(text), text, tuple(body))


def _is_comment_or_blank(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


def _unparsable(code: str, line: int, place: str) -> Cell:
    """The cell whose text marimo kept in a string that starts in `line`; the string's first line is mostly empty."""
    tree, error = parse(textwrap.dedent(code), line)
    if tree is not None:
        # marimo could not parse it and this Python can: still no cell that runs.
        error = (line, "marimo could not read this cell")
    return Cell(place, line, marker_of(code), code, error=error)
