"""Functions in a typed subset of Python that `simt.engine.native_compiler` turns into LLVM IR.

The simulator's scheduler and memory paths must run at machine speed where no C compiler is installed. They are written
as ordinary functions under `@native`, with annotated parameters, integers and floats of fixed width, pointers and
records (`simt.engine.records`), `if`, `while`, `for … in range`, calls of other native functions and the builtins in
`simt.engine.builtins`. Integer arithmetic wraps and division truncates, as in C. A local variable takes the type of its
first assignment or annotation; operands of different width widen, operands of different signedness are an error.
"""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING

from simt.engine.records import void

if TYPE_CHECKING:
    from llvmlite import ir

__all__ = ["NativeFunction", "inlined", "native", "rare"]


class NativeFunction:
    """A function of the native subset: its syntax tree, signature and the names it sees.

    The text is read when the function is first compiled: most processes load machine code and never do.
    """

    def __init__(self, function: Callable):
        self.function = function
        self.name = function.__name__
        self.scope = function.__globals__
        self.file = function.__code__.co_filename
        self.first_line = function.__code__.co_firstlineno
        self.attributes = ("nounwind",)

    @functools.cached_property
    def tree(self) -> ast.FunctionDef:
        source = textwrap.dedent(inspect.getsource(self.function))
        return ast.parse(source).body[0]  # type: ignore[return-value]

    @property
    def signature(self) -> tuple[list, object]:
        """Parameter types and result type, read when first needed so that records may be declared later."""
        kinds = [self.type_of(argument.annotation) for argument in self.tree.args.args]
        result = self.type_of(self.tree.returns) if self.tree.returns is not None else void
        return kinds, result

    def type_of(self, node):
        """The type that an annotation names, among the names that the function sees."""
        return eval(ast.unparse(node), self.scope)

    def llvm_type(self) -> ir.FunctionType:
        from llvmlite import ir

        kinds, result = self.signature
        return ir.FunctionType(result.llvm, [kind.llvm for kind in kinds])


def native(function: Callable) -> NativeFunction:
    """Marks a function of the native subset."""
    return NativeFunction(function)


def inlined(function: NativeFunction) -> NativeFunction:
    """Marks a native function that is copied into its callers: `@inlined` above `@native`."""
    function.attributes += ("alwaysinline",)
    return function


def rare(function: NativeFunction) -> NativeFunction:
    """Marks a native function off the fast path, never copied into its callers: `@rare` above `@native`."""
    function.attributes += ("noinline", "cold")
    return function
