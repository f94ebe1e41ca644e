"""Literals read without running them: Python values from a syntax tree, and launches over a case's sizes.

A launch is a dict literal; a dimension is an int or a string such as `"ceil_div(n, 256)"`. The same values come from
JSON and TOML. Nothing here calls `eval`: expressions are walked over a short list of allowed nodes.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping, Sequence

from grader.model import LaunchSpec
from simt.launch import Dim3, LaunchConfig

__all__ = ["LiteralProblem", "evaluate", "launch_config", "launch_spec", "limit_value", "read_literal"]

MAX_DEPTH = 20
MAX_ITEMS = 10_000
MAX_EXPRESSION = 200  # characters
LARGEST = 2**62  # of any value inside an expression
MOST_BITS = 1024  # of a whole number: more than any size has, fewer than Python refuses to write out (4300 digits)
KEYS = ("grid", "block", "shared_bytes", "cluster")
DEFAULT_SHARED_BYTES = 48 * 1024  # above it the host has to raise the kernel's limit; the grader does


class LiteralProblem(ValueError):
    """Something that is not the literal asked for.

    Attributes:
        message: what was found.
        help: what to write instead.
        line: 1-based line of the file, None when the value did not come from one.
    """

    def __init__(self, message: str, help: str = "", line: int | None = None):
        super().__init__(message)
        self.message, self.help, self.line = message, help, line


def read_literal(node: ast.expr, depth: int = 0) -> object:
    """The value of a literal: numbers, strings, True, False, None, and tuples, lists and dicts of them.

    An f-string without `{}` counts as the string it is.

    Raises:
        LiteralProblem: anything that would have to be run to know its value.
    """
    if depth > MAX_DEPTH:
        raise LiteralProblem(f"a literal nested more than {MAX_DEPTH} deep", "write it flat", node.lineno)
    match node:
        case ast.Constant(value=int() as number) if number.bit_length() > MOST_BITS:
            raise LiteralProblem(f"a whole number of {number.bit_length()} bits", "write a smaller one", node.lineno)
        case ast.Constant(value=bool() | int() | float() | str() | None):
            return node.value
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=ast.Constant(value=int() | float() as value) as operand):
            read_literal(operand, depth + 1)
            return value if type(value) is bool else (-value if isinstance(node.op, ast.USub) else value)
        case ast.JoinedStr(values=parts) if all(isinstance(part, ast.Constant) for part in parts):
            return "".join(str(part.value) for part in parts)  # type: ignore[attr-defined]
        case ast.Tuple(elts=items) | ast.List(elts=items):
            if len(items) > MAX_ITEMS:
                raise LiteralProblem(f"{len(items)} items, more than {MAX_ITEMS}", "write fewer", node.lineno)
            values = [read_literal(item, depth + 1) for item in items]
            return tuple(values) if isinstance(node, ast.Tuple) else values
        case ast.Dict():
            return _read_dict(node, depth)
    raise _not_a_literal(node)


def _read_dict(node: ast.Dict, depth: int) -> dict:
    result: dict = {}
    for key_node, value_node in zip(node.keys, node.values, strict=True):
        if key_node is None:
            raise LiteralProblem("`**` inside a dict", "write its keys out", node.lineno)
        key = read_literal(key_node, depth + 1)
        if type(key) is not str:
            raise LiteralProblem(f"the key {key!r} is not a string", 'write it in quotes: "grid"', key_node.lineno)
        if key in result:
            raise LiteralProblem(f"the key {key!r} stands twice in one dict", "keep one of the two", key_node.lineno)
        result[key] = read_literal(value_node, depth + 1)
    return result


NOT_RUN = "The grader reads your file without running it"


def _not_a_literal(node: ast.expr) -> LiteralProblem:
    """The problem for an expression that only running would give a value."""
    match node:
        case ast.JoinedStr():
            return LiteralProblem(
                "an f-string with `{}` in it: its value is known only by running it",
                f'{NOT_RUN}: write one plain r"""...""" string, with the number itself in the CUDA text',
                node.lineno,
            )
        case ast.BinOp():
            return LiteralProblem(
                "an expression that joins or computes a value",
                f'{NOT_RUN}: write the result out. In a launch, put a computed dimension in quotes: "ceil_div(n, 256)"',
                node.lineno,
            )
        case ast.Name(id=name):
            return LiteralProblem(
                f"the variable `{name}`", f"{NOT_RUN}: write the value of `{name}` itself", node.lineno
            )
        case ast.Call():
            return LiteralProblem(
                "a call: its value is known only by running it",
                f'{NOT_RUN}: write one plain r"""...""" string or a plain dict, without .replace(), .format() or strip()',
                node.lineno,
            )
    return LiteralProblem(f"{type(node).__name__}, which is no literal", f"{NOT_RUN}: write the value out", node.lineno)


def launch_spec(value: object) -> LaunchSpec:
    """The launch that a dict (of a notebook, JSON or TOML) spells; dimensions are not evaluated yet.

    Raises:
        LiteralProblem: another shape; the message says which key and what was found.
    """
    example = 'write {"grid": "ceil_div(n, 256)", "block": 256}'
    if not isinstance(value, Mapping):
        raise LiteralProblem(f"a launch is a dict, got {_named(value)}", example)
    for key in value:
        if key not in KEYS:
            raise LiteralProblem(f"a launch has no key {key!r}; it takes {', '.join(KEYS)}", example)
    for key in ("grid", "block"):
        if key not in value:
            raise LiteralProblem(f"the launch has no {key!r}", example)
    cluster = value.get("cluster")
    return LaunchSpec(
        grid=_dimensions("grid", value["grid"]),
        block=_dimensions("block", value["block"]),
        shared_bytes=_dimension("shared_bytes", value.get("shared_bytes", 0)),
        cluster=None if cluster is None else _dimensions("cluster", cluster),
    )


def _dimensions(key: str, value: object) -> tuple[int | str, ...]:
    if isinstance(value, Sequence) and not isinstance(value, str):
        if not 1 <= len(value) <= 3:
            raise LiteralProblem(f"{key} has {len(value)} dimensions; it takes one to three", "drop the others")
        return tuple(_dimension(key, part) for part in value)
    return (_dimension(key, value),)


def _dimension(key: str, value: object) -> int | str:
    if type(value) is str or (type(value) is int and value.bit_length() <= MOST_BITS):
        return value
    raise LiteralProblem(
        f"{key} holds {_named(value)}", "a dimension is a whole number, or a string over the case's sizes"
    )


def _named(value: object) -> str:
    try:
        text = repr(value)
    except ValueError:  # Python writes out no whole number of more than 4300 digits
        text = "a number of thousands of digits"
    return f"{text if len(text) <= 40 else text[:37] + '...'} ({type(value).__name__})"


def launch_config(spec: LaunchSpec, sizes: Mapping[str, int]) -> LaunchConfig:
    """The launch of one case. Whether a GPU accepts it is for `simt.launch.check_launch` to say.

    Raises:
        LiteralProblem: a dimension that cannot be computed.
    """
    shared = _computed("shared_bytes", spec.shared_bytes, sizes)
    return LaunchConfig(
        grid=_dim3("grid", spec.grid, sizes),
        block=_dim3("block", spec.block, sizes),
        shared_bytes=shared,
        max_dynamic_shared=shared if shared > DEFAULT_SHARED_BYTES else None,
        cluster=None if spec.cluster is None else _dim3("cluster", spec.cluster, sizes),
    )


def _dim3(key: str, parts: Sequence[int | str], sizes: Mapping[str, int]) -> Dim3:
    return Dim3.of([_computed(key, part, sizes) for part in parts])


def _computed(key: str, part: int | str, sizes: Mapping[str, int]) -> int:
    if isinstance(part, int):
        if abs(part) > LARGEST:
            raise LiteralProblem(f"{key} is out of every range", "write a number that a GPU can launch")
        return part
    try:
        return int(evaluate(part, sizes))
    except LiteralProblem as problem:
        raise LiteralProblem(f"{key} is {part[:60]!r}: {problem.message}", problem.help) from None


def limit_value(limit: float | str, sizes: Mapping[str, int]) -> float:
    """A goal's limit in one case: a number, or an expression over the sizes that may also use `/` and decimals."""
    return float(limit) if not isinstance(limit, str) else float(evaluate(limit, sizes, exact=False))


def evaluate(expression: str, sizes: Mapping[str, int], *, exact: bool = True) -> int | float:
    """The value of a size expression: ints, names of sizes, `+ - * // %`, parentheses, ceil_div, min, max.

    Args:
        expression: at most 200 characters.
        sizes: the values of names.
        exact: integers only; otherwise decimals and `/` too.

    Raises:
        LiteralProblem: anything else, an unknown name, division by zero, or a value beyond 2^62.
    """
    if len(expression) > MAX_EXPRESSION:
        raise LiteralProblem(f"{len(expression)} characters long, more than {MAX_EXPRESSION}", "write it shorter")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(expression.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise LiteralProblem("this is no arithmetic expression", ACCEPTED) from None
    return _Expression(sizes, exact).value(tree.body, 0)


ACCEPTED = "use whole numbers, the sizes' names, + - * // %, parentheses, ceil_div, min and max"


class _Expression:
    """One walk over an expression's tree."""

    def __init__(self, sizes: Mapping[str, int], exact: bool):
        self._sizes, self._exact = sizes, exact

    def value(self, node: ast.expr, depth: int) -> int | float:
        if depth > MAX_DEPTH:
            raise LiteralProblem(f"nested more than {MAX_DEPTH} deep", ACCEPTED)
        result = self._value(node, depth)
        if abs(result) > LARGEST:
            raise LiteralProblem("a value grows beyond 2^62", "write a number that a GPU can launch")
        return result

    def _value(self, node: ast.expr, depth: int) -> int | float:
        match node:
            case ast.Constant(value=int() | float() as value) if type(value) is int or not self._exact:
                return value
            case ast.Name(id=name) if name in self._sizes:
                return self._sizes[name]
            case ast.Name(id=name):
                known = ", ".join(self._sizes) or "none"
                raise LiteralProblem(f"there is no size called `{name}`", f"the sizes of this exercise: {known}")
            case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=inner):
                value = self.value(inner, depth + 1)
                return -value if isinstance(node.op, ast.USub) else value
            case ast.BinOp(left=left, op=op, right=right):
                return self._binary(op, self.value(left, depth + 1), self.value(right, depth + 1))
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return self._call(name, [self.value(arg, depth + 1) for arg in args])
        raise LiteralProblem("something in it is not allowed here", ACCEPTED)

    def _binary(self, op: ast.operator, a: int | float, b: int | float) -> int | float:
        match op:
            case ast.Add():
                return a + b
            case ast.Sub():
                return a - b
            case ast.Mult():
                return a * b
            case ast.FloorDiv() | ast.Mod() | ast.Div() if b == 0:
                raise LiteralProblem("it divides by zero", "check the sizes of every case")
            case ast.FloorDiv():
                return a // b
            case ast.Mod():
                return a % b
            case ast.Div() if not self._exact:
                return a / b
            case ast.Div():
                raise LiteralProblem("`/` gives a fraction", "use // or ceil_div(a, b), which rounds up")
            case ast.Pow():
                raise LiteralProblem("`**` is not allowed", ACCEPTED)
        raise LiteralProblem("this operator is not allowed", ACCEPTED)

    def _call(self, name: str, args: list[int | float]) -> int | float:
        if name in ("min", "max") and args:
            return min(args) if name == "min" else max(args)
        if name == "ceil_div" and len(args) == 2:
            if args[1] == 0:
                raise LiteralProblem("it divides by zero", "check the sizes of every case")
            return -(-args[0] // args[1])
        raise LiteralProblem(f"`{name}` with {len(args)} values is not a function here", ACCEPTED)
