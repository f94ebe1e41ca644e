"""Which names a cell defines and which it takes from other cells, by the rules of Python and of marimo."""

from __future__ import annotations

import ast
import builtins
import symtable

__all__ = ["definitions", "references"]

_BUILTINS = frozenset(dir(builtins)) | {"__file__"}


def definitions(code: str) -> frozenset[str]:
    """Names that the cell gives to other cells: assigned at its top level; those that begin with `_` are its own."""
    top = symtable.symtable(code, "<cell>", "exec")
    return frozenset(
        symbol.get_name()
        for symbol in top.get_symbols()
        if (symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace())
        and not symbol.get_name().startswith("_")
        and symbol.get_name() not in _exception_names(code)
    )


def references(code: str) -> frozenset[str]:
    """Names that the cell uses and does not define itself, builtins left out."""
    top = symtable.symtable(code, "<cell>", "exec")
    own = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    own |= {child.get_name() for child in top.get_children() if child.get_type() in ("function", "class")}
    used = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_referenced()}
    pending = list(top.get_children())
    while pending:
        scope = pending.pop()
        used |= {symbol.get_name() for symbol in scope.get_symbols() if symbol.is_global() and symbol.is_referenced()}
        pending += scope.get_children()
    return frozenset(used - own - _BUILTINS)


def _exception_names(code: str) -> set[str]:
    """Names of `except … as name`, which Python deletes again."""
    return {node.name for node in ast.walk(ast.parse(code)) if isinstance(node, ast.ExceptHandler) and node.name}
