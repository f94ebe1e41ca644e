"""Arguments against parameters: what CUDA would take in silence and run wrong with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from simt.diagnostics import Diagnostic, diagnose
from simt.events import Argument, Direction
from simt.ptx.syntax import Function, Variable
from simt.ptx.types import Kind
from simt.runner.buffers import scalar_bytes
from simt.runner.tensor_maps import check_map
from simt.tensor_map import TensorMap

__all__ = ["check_arguments"]

_FLOAT_NAMES = {2: "np.float16", 4: "np.float32", 8: "np.float64"}


def check_arguments(function: Function, arguments: Sequence[Argument], source: str = "") -> tuple[Diagnostic, ...]:
    """Everything wrong with how the kernel is called, errors and warnings."""
    if len(arguments) != len(function.params):
        names = ", ".join(f"`{a.name}`" for a in arguments) or "none"
        return (
            diagnose(
                "host.arg-count",
                f"`{function.name}` has {len(function.params)} parameters, {len(arguments)} arguments were passed: {names}",
                help="pass one argument for each parameter, in order",
            ),
        )
    declared = _declared_types(source, function.name)
    found: list[Diagnostic] = []
    for index, (argument, parameter) in enumerate(zip(arguments, function.params, strict=True)):
        kind = declared[index] if index < len(declared) else ""
        if isinstance(argument.value, TensorMap):
            found.extend(check_map(index, argument, parameter, arguments))
            continue
        check = _array if argument.direction is not Direction.SCALAR else _scalar
        found.extend(check(index, argument, parameter, kind))
    return tuple(found)


def _declared_types(source: str, kernel: str) -> list[str]:
    """The parameter types as the text declares them, `const float*`; empty when they cannot be read off."""
    import re

    match = re.search(rf"\b{re.escape(kernel)}\s*\(([^()]*)\)", source)
    if not match or not match.group(1).strip():
        return []
    return [re.sub(r"\s*\b\w+\s*$", "", part).strip() for part in match.group(1).split(",")]


def _array(index: int, argument: Argument, parameter: Variable, kind: str) -> Iterator[Diagnostic]:
    array = argument.value
    if not isinstance(array, np.ndarray):
        yield diagnose(
            "host.arg-type",
            f"argument {index + 1} `{argument.name}` is {type(array).__name__}, not an array",
            help="pass an array",
        )
        return
    if parameter.n_bytes != 8:
        yield diagnose(
            "host.arg-type",
            f"argument {index + 1} `{argument.name}` is an array, but the parameter takes {parameter.n_bytes} bytes"
            f"{f' ({kind})' if kind else ''}",
            help="pass a scalar there, or declare the parameter as a pointer",
        )
    if not array.flags.c_contiguous:
        yield diagnose(
            "host.non-contiguous",
            f"argument {index + 1} `{argument.name}` is not C-contiguous (shape {array.shape}, strides {array.strides}): "
            "a kernel gets the bare pointer and reads memory as if it were",
            help=f"pass np.ascontiguousarray({argument.name}), or hand the strides to the kernel",
        )


def _scalar(index: int, argument: Argument, parameter: Variable, kind: str) -> Iterator[Diagnostic]:
    raw, width = scalar_bytes(argument), parameter.n_bytes
    where = f"argument {index + 1} `{argument.name}`"
    if argument.python_scalar:
        yield from _python_scalar(where, argument, width, kind, parameter)
        return
    if len(raw) != width:
        yield diagnose(
            "host.arg-type",
            f"{where} has {len(raw)} bytes ({np.asarray(argument.value).dtype}), the parameter takes {width}"
            f"{f' ({kind})' if kind else ''}",
            help="pass a NumPy scalar of the parameter's own type",
        )


def _python_scalar(where: str, argument: Argument, width: int, kind: str, parameter: Variable) -> Iterator[Diagnostic]:
    value = argument.value
    is_float = isinstance(value, float)
    if isinstance(value, float) and (width != 8 or not _may_be_float(kind, parameter, "double")):
        name = _FLOAT_NAMES.get(width, "np.float32")
        yield diagnose(
            "host.arg-type",
            f"{where} is a Python float, sent as the 8 bytes of a float64, but the parameter is "
            f"{kind or 'smaller'} ({width} bytes): the kernel sees {_seen(value, width, kind)}",
            help=f"pass {name}({argument.value!r})",
        )
    elif not is_float and width < 8:
        yield diagnose(
            "host.arg-width",
            f"{where} is a Python int, sent as 8 bytes, the parameter takes {width}: right only because the low bytes "
            "come first",
            help=f"pass np.int32({argument.value!r})",
        )


def _may_be_float(kind: str, parameter: Variable, name: str) -> bool:
    return kind.endswith(name) if kind else parameter.type.kind in (Kind.FLOAT, Kind.BITS)


def _seen(value: float, width: int, kind: str) -> object:
    low = np.float64(value).tobytes()[:width]
    if width == 4:
        return np.frombuffer(low, np.float32)[0] if "int" not in kind else np.frombuffer(low, np.int32)[0]
    return np.frombuffer(low, np.int64)[0] if width == 8 else low.hex()
