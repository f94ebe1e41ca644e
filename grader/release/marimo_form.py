"""A marimo notebook as cells, and cells as the file that marimo itself would save.

A lesson that is opened and saved in the browser must come back byte for byte, or every student's file would differ
from the release for no reason. So `emit` writes marimo's own form: sorted parameters and returns, its line breaking,
its way with Markdown cells. A test saves each lesson through the real page and compares.

Source: behaviour of marimo 0.25.2, tests/grader/test_release.py and tests/browser/.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace

from grader.release.names import definitions, references

__all__ = ["Cell", "NotebookFormError", "Notebook", "emit", "parse"]

MARIMO_VERSION = "0.25.2"
INDENT = "    "
_MAX_LINE = 80


class NotebookFormError(ValueError):
    """A file that is no marimo notebook, or uses a form that lessons do not use; names the line."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: its function's name (`_` for most), its code at column 0, and its options as written (`hide_code=True`).

    `kind` is "cell", "setup", "function" or "class_definition".
    """

    name: str
    code: str
    options: str = ""
    kind: str = "cell"


@dataclass(frozen=True, slots=True)
class Notebook:
    """A notebook: text before `import marimo`, arguments of `marimo.App(…)`, cells in order."""

    header: str
    app: str
    cells: tuple[Cell, ...]

    def with_cells(self, cells: Sequence[Cell]) -> Notebook:
        """The same notebook with other cells."""
        return replace(self, cells=tuple(cells))


def parse(text: str) -> Notebook:
    """The notebook in a file's text.

    Raises:
        NotebookFormError: it does not parse, or a cell is of a form that is not known here.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        raise NotebookFormError(f"the notebook does not parse: {error}") from error
    lines = text.split("\n")
    imported = next(
        (node for node in tree.body if isinstance(node, ast.Import) and node.names[0].name == "marimo"), None
    )
    app = next((node for node in tree.body if isinstance(node, ast.Assign) and _assigns_app(node)), None)
    if imported is None or app is None:
        raise NotebookFormError("a marimo notebook has `import marimo` and `app = marimo.App(…)`")
    cells = tuple(_cell(node, lines) for node in tree.body if node.lineno > app.lineno and not isinstance(node, ast.If))
    return Notebook("\n".join(lines[: imported.lineno - 1]).rstrip(), _arguments(app.value, text), cells)


def emit(notebook: Notebook) -> str:
    """The file's text in marimo's canonical form."""
    setup = [cell for cell in notebook.cells if cell.kind == "setup"]
    rest = [cell for cell in notebook.cells if cell.kind != "setup"]
    shared = {name for cell in notebook.cells if cell.kind != "cell" for name in definitions(cell.code)}
    used = {name for cell in notebook.cells for name in references(cell.code)}
    parts = [notebook.header, ""] if notebook.header else []
    parts += ["import marimo", "", f'__generated_with = "{MARIMO_VERSION}"', f"app = marimo.App({notebook.app})", ""]
    parts += [_setup(setup[0]) if setup else "", "\n\n\n".join(_block(cell, shared, used) for cell in rest), "\n"]
    parts += ['if __name__ == "__main__":', f"{INDENT}app.run()", ""]
    return "\n".join(parts).lstrip()


def _setup(cell: Cell) -> str:
    return f"with app.setup{f'({cell.options})' if cell.options else ''}:\n{textwrap.indent(cell.code, INDENT)}\n\n"


def _block(cell: Cell, shared: set[str], used: set[str]) -> str:
    """One cell as marimo writes it."""
    if cell.kind != "cell":
        return f"@app.{cell.kind}{f'({cell.options})' if cell.options else ''}\n{cell.code}"
    defined = definitions(cell.code)
    takes = sorted(name for name in references(cell.code) if name not in shared and name not in defined)
    gives = sorted(name for name in defined if name in used)
    decorator = f"@app.cell({cell.options})" if cell.options else "@app.cell"
    lines = [decorator, _broken("def " + cell.name + "(", takes, "):")]
    body = _markdown(cell.code) or cell.code
    if body:
        lines.append(textwrap.indent(body, INDENT))
    if _ends_in_definition(cell.code):
        lines.append("")
    return "\n".join([*lines, textwrap.indent(_returned(gives), INDENT)])


def _broken(before: str, names: list[str], after: str) -> str:
    """A parameter list on one line, or one name a line where that would reach marimo's limit."""
    line = before + ", ".join(names) + after
    if len(line) < _MAX_LINE:
        return line
    return before + "\n" + "".join(f"{INDENT}{name},\n" for name in names) + after


def _returned(names: list[str]) -> str:
    if not names:
        return "return"
    line = f"return ({names[0]},)" if len(names) == 1 else f"return {', '.join(names)}"
    if len(INDENT + line) < _MAX_LINE:
        return line
    return "return (\n" + "".join(f"{INDENT}{name},\n" for name in names) + ")"


def _ends_in_definition(code: str) -> bool:
    body = ast.parse(code).body
    kinds = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return bool(body) and isinstance(body[-1], kinds) and body[-1].end_lineno == code.rstrip().count("\n") + 1


_MARKDOWN = re.compile(r'(?P<before>.*?)mo\.md\(\s*(?P<tag>[rRfFtT]{0,2})(?P<quote>"""|\'\'\'|"|\')', re.DOTALL)


def _markdown(code: str) -> str:
    """A cell that is one `mo.md("…")` in marimo's form: text at column 0 between lines of quotes; "" for any other."""
    content = _markdown_text(code)
    if content is None:
        return ""
    match = _MARKDOWN.match(code)
    call = ast.parse(code).body[0]
    end = _end_of(code, call)
    assert match is not None
    if "f" in match["tag"].lower():
        content = content.replace("{", "{{").replace("}", "}}")
    content = content.replace('""', '"\\"')
    return f'{match["before"]}mo.md({match["tag"]}"""\n{content}\n"""){code[end:]}'


def _markdown_text(code: str) -> str | None:
    """The text of a cell that is nothing but one `mo.md` of a constant string."""
    if sum(line.startswith("mo.md(") for line in code.split("\n")) != 1:
        return None
    body = ast.parse(code).body
    if len(body) != 1 or not isinstance(body[0], ast.Expr) or not isinstance(body[0].value, ast.Call):
        return None
    call = body[0].value
    if not (
        isinstance(call.func, ast.Attribute) and call.func.attr == "md" and len(call.args) == 1 and not call.keywords
    ):
        return None
    text = call.args[0]
    if isinstance(text, ast.JoinedStr) and len(text.values) == 1:
        text = text.values[0]
    if not (isinstance(text, ast.Constant) and isinstance(text.value, str)):
        return None
    first, *rest = (line.rstrip() for line in text.value.split("\n"))
    return (textwrap.dedent(first) + "\n" + textwrap.dedent("\n".join(rest))).strip()


def _end_of(code: str, node: ast.stmt) -> int:
    """Character offset of the end of a statement."""
    lines, row = code.split("\n"), (node.end_lineno or 1) - 1
    last = lines[row].encode()[: node.end_col_offset].decode()
    return sum(len(line) + 1 for line in lines[:row]) + len(last)


def _assigns_app(node: ast.Assign) -> bool:
    return isinstance(node.targets[0], ast.Name) and node.targets[0].id == "app"


def _arguments(call: ast.expr, text: str) -> str:
    """The keyword arguments of a call as marimo writes them."""
    if not isinstance(call, ast.Call):
        return ""
    return ", ".join(f"{keyword.arg}={_argument(keyword.value, text)}" for keyword in call.keywords)


def _argument(value: ast.expr, text: str) -> str:
    constant = ast.literal_eval(value)
    return f'"{constant}"' if isinstance(constant, str) else (ast.get_source_segment(text, value) or repr(constant))


def _cell(node: ast.stmt, lines: list[str]) -> Cell:
    """The cell that a top-level statement is."""
    text = "\n".join(lines)
    if isinstance(node, ast.With):
        call = node.items[0].context_expr
        return Cell(
            "setup", _body(lines, _first_line(node, lines), node.end_lineno or 0), _arguments(call, text), "setup"
        )
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) or len(node.decorator_list) != 1:
        raise NotebookFormError(f"line {node.lineno}: not a cell that lessons use")
    decorator = node.decorator_list[0]
    kind = decorator.func if isinstance(decorator, ast.Call) else decorator
    options = _arguments(decorator, text)
    if not isinstance(kind, ast.Attribute) or kind.attr not in ("cell", "function", "class_definition"):
        raise NotebookFormError(f"line {node.lineno}: not a cell that lessons use")
    if kind.attr != "cell":
        return Cell(node.name, "\n".join(lines[node.lineno - 1 : node.end_lineno]), options, kind.attr)
    if isinstance(node, (ast.AsyncFunctionDef, ast.ClassDef)):
        raise NotebookFormError(f"line {node.lineno}: lessons have no such cell")
    last = node.body[-1]
    end = last.lineno - 1 if isinstance(last, ast.Return) else node.end_lineno or 0
    code = _body(lines, _first_line(node, lines), end)
    statements = ast.parse(code).body
    if len(statements) == 1 and isinstance(statements[0], (ast.FunctionDef, ast.ClassDef)):
        raise NotebookFormError(f"line {node.lineno}: a cell that is one function is written `@app.function`")
    return Cell(node.name, code, options)


def _first_line(node: ast.stmt, lines: list[str]) -> int:
    """Index of the line after the one that ends `def …(…):` or `with …:`; comments before the code belong to it."""
    index = node.lineno - 1
    while not lines[index].rstrip().endswith(":"):
        index += 1
    return index + 1


def _body(lines: list[str], start: int, end: int) -> str:
    """Lines [start, end) without the function's indentation and without blank lines around them."""
    return (
        "\n".join(line.removeprefix(INDENT) if line.strip() else "" for line in lines[start:end]).strip("\n").rstrip()
    )
