"""NumPy expressions of case files, worked out over a short list of what they may name.

`np.arange(256) % 7`, `x[1:]`, `A @ B.T`: arithmetic, indexing, NumPy's array functions and an array's own methods.
Nothing that reaches a file, a module or a private attribute is on the list, and nothing is ever handed to `eval`.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping

import numpy as np

__all__ = ["ExpressionProblem", "names_in", "work_out"]

MAX_CHARACTERS = 2000
MAX_DEPTH = 40
MAX_RANGE = 1_000_000

FUNCTIONS = frozenset(
    """
    abs add all allclose any arange argmax argmin array ascontiguousarray asarray asfortranarray average bincount
    broadcast_to ceil clip concatenate copy cos cosh cumprod cumsum diag diff divide dot einsum empty empty_like equal
    exp exp2 expand_dims expm1 eye flip flipud fliplr floor floor_divide full full_like gcd greater hstack identity inner
    isnan isfinite kron lexsort linspace log log10 log1p log2 logical_and logical_not logical_or matmul max maximum mean
    median meshgrid min minimum mod multiply nan_to_num nonzero ones ones_like outer pad power prod ravel reciprocal
    remainder repeat reshape rint roll rot90 round searchsorted sign sin sinh sort split sqrt square squeeze stack std
    subtract sum swapaxes take tan tanh tensordot tile trace transpose tri tril triu trunc unique var vstack where zeros
    zeros_like left_shift right_shift bitwise_and bitwise_or bitwise_xor argsort indices atleast_2d histogram
    """.split()
)
CONSTANTS = frozenset("pi e inf nan newaxis".split())
TYPES = frozenset(
    "float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool_ intp double single half".split()
)
METHODS = frozenset(
    """
    all any argmax argmin argsort astype clip copy cumprod cumsum dot fill flatten item max mean min nonzero prod ravel
    repeat reshape round sort squeeze std sum swapaxes take trace transpose tolist var view
    """.split()
)
ATTRIBUTES = frozenset("T shape size ndim dtype nbytes itemsize real imag".split())
RANDOM = frozenset(
    "standard_normal normal uniform integers random permutation choice exponential shuffle permuted".split()
)
BUILTINS: Mapping[str, Callable] = {
    "abs": abs, "bool": bool, "enumerate": enumerate, "float": float, "int": int, "len": len, "list": list, "max": max,
    "min": min, "round": round, "sorted": sorted, "sum": sum, "tuple": tuple, "zip": zip,
}  # fmt: skip
BINARY: Mapping[type, Callable] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.MatMult: operator.matmul,
    ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor, ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}  # fmt: skip
UNARY: Mapping[type, Callable] = {
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert, ast.Not: operator.not_,
}  # fmt: skip
COMPARE: Mapping[type, Callable] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}  # fmt: skip


class ExpressionProblem(ValueError):
    """An expression that is not accepted or does not work out."""


def work_out(expression: str, names: Mapping[str, object]) -> object:
    """The value of `expression` over `names`.

    Raises:
        ExpressionProblem: it holds something that is not on the list, or NumPy refuses it.
    """
    try:
        return _value(_parse(expression), names, 0)
    except ExpressionProblem:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, MemoryError, RecursionError) as error:
        raise ExpressionProblem(f"{expression!r}: {type(error).__name__}: {error}") from None


def names_in(expression: str) -> frozenset[str]:
    """The names that `expression` uses."""
    return frozenset(node.id for node in ast.walk(_parse(expression)) if isinstance(node, ast.Name))


def _parse(expression: str) -> ast.expr:
    if len(expression) > MAX_CHARACTERS:
        raise ExpressionProblem(f"{len(expression)} characters, more than {MAX_CHARACTERS}")
    try:
        return ast.parse(expression.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise ExpressionProblem(f"{expression!r} is no expression: {error}") from None


def _value(node: ast.AST | None, names: Mapping[str, object], depth: int):
    if depth > MAX_DEPTH:
        raise ExpressionProblem(f"nested more than {MAX_DEPTH} deep")

    def value(inner: ast.AST | None):
        return _value(inner, names, depth + 1)

    match node:
        case None | ast.Constant():
            return node and node.value
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.Tuple(elts=items):
            return tuple(value(item) for item in items)
        case ast.List(elts=items):
            return [value(item) for item in items]
        case ast.Slice(lower=lower, upper=upper, step=step):
            return slice(value(lower), value(upper), value(step))
        case ast.Subscript(value=array, slice=index):
            return value(array)[value(index)]
        case ast.BinOp(left=left, op=op, right=right):
            operate: Callable = _power if isinstance(op, ast.Pow) else BINARY[type(op)]
            return operate(value(left), value(right))
        case ast.UnaryOp(op=op, operand=operand):
            return UNARY[type(op)](value(operand))
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARE:
            return COMPARE[type(op)](value(left), value(right))
        case ast.BoolOp(op=op, values=items):
            results = [value(item) for item in items]
            return all(results) if isinstance(op, ast.And) else any(results)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return value(body) if value(test) else value(orelse)
        case ast.Attribute():
            return _attribute(node, value)
        case ast.Call(func=function, args=args, keywords=keywords) if all(keyword.arg for keyword in keywords):
            call = _function(function, value)
            return call(*map(value, args), **{str(keyword.arg): value(keyword.value) for keyword in keywords})
        case ast.ListComp(elt=item, generators=[loop]) | ast.GeneratorExp(elt=item, generators=[loop]):
            return _comprehension(item, loop, names, depth)
    raise ExpressionProblem(f"{ast.unparse(node)} is not accepted")


def _power(base, exponent):
    """`base ** exponent`; of Python ints only while the result stays small."""
    if isinstance(base, int) and isinstance(exponent, int) and (abs(base).bit_length() * max(exponent, 1)) > 128:
        raise ExpressionProblem("a power beyond 2^128")
    return base**exponent


def _comprehension(item: ast.expr, loop: ast.comprehension, names: Mapping[str, object], depth: int) -> list:
    targets = loop.target.elts if isinstance(loop.target, ast.Tuple) else [loop.target]
    if not all(isinstance(target, ast.Name) for target in targets):
        raise ExpressionProblem(f"{ast.unparse(loop)} is not accepted")
    results = []
    for values in _value(loop.iter, names, depth + 1):
        bound = zip(targets, values if isinstance(loop.target, ast.Tuple) else [values])
        inner = {**names, **{target.id: value for target, value in bound}}  # type: ignore[attr-defined]
        if all(_value(test, inner, depth + 1) for test in loop.ifs):
            results.append(_value(item, inner, depth + 1))
    return results


def _attribute(node: ast.Attribute, value: Callable):
    if isinstance(node.value, ast.Name) and node.value.id == "np":
        if node.attr in CONSTANTS or node.attr in TYPES:
            return getattr(np, node.attr)
        raise ExpressionProblem(f"np.{node.attr} is not accepted")
    target = value(node.value)
    if node.attr in ATTRIBUTES and isinstance(target, (np.ndarray, np.generic)):
        return getattr(target, node.attr)
    raise ExpressionProblem(f".{node.attr} is not accepted")


def _range(*bounds: int) -> range:
    numbers = range(*bounds)
    if len(numbers) > MAX_RANGE:
        raise ExpressionProblem(f"a range of {len(numbers)}, more than {MAX_RANGE}")
    return numbers


def _function(node: ast.expr, value: Callable) -> Callable:
    match node:
        case ast.Name(id="range"):
            return _range
        case ast.Name(id=name) if name in BUILTINS:
            return BUILTINS[name]
        case ast.Attribute(value=ast.Name(id="np"), attr=name) if name in FUNCTIONS or name in TYPES:
            return getattr(np, name)
        case ast.Attribute(value=ast.Attribute(value=ast.Name(id="np"), attr="random"), attr="default_rng"):
            return np.random.default_rng
        case ast.Attribute(value=target, attr=name):
            owner = value(target)
            if isinstance(owner, np.random.Generator) and name in RANDOM:
                return getattr(owner, name)
            if isinstance(owner, (np.ndarray, np.generic)) and name in METHODS:
                return getattr(owner, name)
    raise ExpressionProblem(f"{ast.unparse(node)}(…) is not accepted")
