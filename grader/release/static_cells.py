"""What becomes of a marimo cell in a notebook without widgets: its Markdown, its code with sliders at rest, or nothing.

A slider's `.value` is replaced by the value it starts with, so that the chart it moved stays, as it looked at first.
A cell that shows marimo's own elements has no other form and is left out.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterable, Mapping

__all__ = ["at_rest", "imports_without_marimo", "markdown_of", "only_imports_of", "slider_values"]

_DETAILS = re.compile(r"^/// details \| (?P<title>[^\n]+)\n(?P<body>.*?)^///[ \t]*$", re.MULTILINE | re.DOTALL)


def markdown_of(code: str) -> str | None:
    """The text of a cell that is nothing but `mo.md("…")`, folded parts as HTML; None for any other cell."""
    match ast.parse(code).body:
        case [ast.Expr(ast.Call(ast.Attribute(ast.Name("mo"), "md"), [ast.Constant(str(text))], []))]:
            return _DETAILS.sub(_folded, inspect.cleandoc(text))
    return None


def _folded(match: re.Match[str]) -> str:
    return f"<details><summary>{match['title']}</summary>\n\n{match['body'].strip()}\n\n</details>"


def slider_values(codes: Iterable[str]) -> dict[str, ast.expr]:
    """Slider name → the expression of the value it starts with, from cells with `name = mo.ui.slider(…, value=…)`."""
    found: dict[str, ast.expr] = {}
    for node in (node for code in codes for node in ast.parse(code).body):
        match node:
            case ast.Assign(
                [ast.Name(name)], ast.Call(ast.Attribute(ast.Attribute(ast.Name("mo"), "ui")), _, keywords)
            ):
                first = [keyword.value for keyword in keywords if keyword.arg == "value"]
                found.update(zip([name], first, strict=False))
    return found


def at_rest(code: str, values: Mapping[str, ast.expr]) -> str | None:
    """The cell with every slider at its first value; None where it needs marimo for more than that."""
    tree = ast.parse(code)
    if any(isinstance(node, ast.Name) and node.id == "mo" for node in ast.walk(tree)):
        return None
    if not any(isinstance(node, ast.Name) and node.id in values for node in ast.walk(tree)):
        return code
    return ast.unparse(_AtRest(values).visit(tree))


class _AtRest(ast.NodeTransformer):
    def __init__(self, values: Mapping[str, ast.expr]):
        self.values = values

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if node.attr == "value" and isinstance(node.value, ast.Name) and node.value.id in self.values:
            return self.values[node.value.id]
        return self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        """An f-string in which nothing is left to work out becomes plain text."""
        self.generic_visit(node)
        parts = [_plain(part) for part in node.values]
        return node if None in parts else ast.Constant("".join(map(str, parts)))


def _plain(part: ast.expr) -> str | None:
    """The text of a part of an f-string, None where it has to be worked out."""
    match part:
        case ast.Constant(value) | ast.FormattedValue(ast.Constant(value), -1, None):
            return str(value)
    return None


def imports_without_marimo(code: str) -> str | None:
    """A cell of imports less marimo's; None for a cell that is something else."""
    tree = ast.parse(code)
    if not tree.body or not all(isinstance(node, ast.Import | ast.ImportFrom) for node in tree.body):
        return None
    return only_imports_of(code, lambda alias: alias.name != "marimo")


def only_imports_of(code: str, wanted: Callable[[ast.alias], bool]) -> str:
    """A cell of imports with the names that are `wanted`."""
    lines = []
    for node in ast.parse(code).body:
        assert isinstance(node, ast.Import | ast.ImportFrom)
        node.names = [alias for alias in node.names if wanted(alias)]
        if node.names:
            lines.append(ast.unparse(node))
    return "\n".join(lines)
