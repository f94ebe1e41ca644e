"""LAUNCH.toml: what to launch, with which arguments, read strictly.

    kernel = "saxpy"
    grid = 4
    block = 256

    [[args]]
    name = "x"
    kind = "array"
    dtype = "float32"
    shape = [1000]
    dir = "in"
    init = "normal:7"

    [[args]]
    name = "n"
    kind = "scalar"
    dtype = "int32"
    value = 1000

Several `[[launch]]` tables run one after the other on the same buffers; each may repeat any key of a launch and choose
its arguments by name, `args = ["x", "y", "n"]`. Tensor maps and the arrays behind them are written as `simt.launch_maps`
says. Whatever is wrong is a `LaunchFileError` that says what and where.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simt.events import Direction
from simt.launch import Dim3, LaunchConfig
from simt.launch_maps import MAP_KEYS, map_spec
from simt.launch_values import DTYPES, ArraySpec, ValueSpecError, literal, scalar, struct

__all__ = [
    "ArgumentSpec",
    "LaunchFile",
    "LaunchFileError",
    "LaunchFileUnreadable",
    "LaunchSpec",
    "read_launch_file",
    "read_launch_text",
]

LAUNCH_KEYS = (
    "kernel", "name_expression", "grid", "block", "shared_bytes", "max_dynamic_shared", "cluster", "cooperative",
)  # fmt: skip
FILE_KEYS = (*LAUNCH_KEYS, "arch", "options", "constants", "args", "backing", "launch")
ARGUMENT_KEYS = ("name", "kind", "dtype", "shape", "dir", "init", "value")
KINDS = ("array", "scalar", "tensormap")
ARRAY_DIRECTIONS = ("in", "out", "inout")


class LaunchFileError(ValueError):
    """What is wrong in a launch file; `help` is the next step."""

    def __init__(self, message: str, help: str = ""):
        super().__init__(message)
        self.help = help


class LaunchFileUnreadable(LaunchFileError):
    """There is no such launch file, or it is no text."""


@dataclass(frozen=True, slots=True)
class ArgumentSpec:
    """One named argument.

    Attributes:
        kind: array, scalar or tensormap.
        direction: SCALAR for a scalar or a tensor map.
        array: of an array.
        value: of a scalar, or the `MapSpec` of a tensor map.
    """

    name: str
    kind: str
    direction: Direction
    array: ArraySpec | None = None
    value: object = None


@dataclass(frozen=True, slots=True)
class LaunchSpec:
    """One launch: `arguments` are names in the order of the kernel's parameters; no kernel means the only one."""

    kernel: str | None
    name_expression: str | None
    config: LaunchConfig
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LaunchFile:
    """A launch file as read.

    Attributes:
        arch: what to compile for, None when the file leaves it open.
        options, include_dirs: for the compiler; folders count from the file's own.
        constants: values of `__constant__` variables by name.
        arguments: by name, in the file's order; arrays of [[backing]], which are no parameters, last.
        launches: at least one, in order.
    """

    arch: str | None
    options: tuple[str, ...]
    include_dirs: tuple[Path, ...]
    constants: dict[str, np.ndarray]
    arguments: dict[str, ArgumentSpec]
    launches: tuple[LaunchSpec, ...]


def read_launch_file(path: str | Path) -> LaunchFile:
    """The launch file at `path`; raises `LaunchFileError`."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        help = f"give --launch the path of a .toml file, as seen from {Path.cwd()}"
        raise LaunchFileUnreadable(f"cannot read the launch file {path}: {reason}", help) from None
    try:
        return read_launch_text(text, path.parent)
    except LaunchFileError as error:
        raise LaunchFileError(f"{path}: {error}", error.help) from None


def read_launch_text(text: str, folder: Path = Path()) -> LaunchFile:
    """The launch file whose text this is; relative paths count from `folder`."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise LaunchFileError(f"not TOML: {error}", "a line reads key = value, a table starts with [[args]]") from None
    _known_keys(table, FILE_KEYS, "the file")
    arguments = _arguments(table.get("args", []), folder)
    every = list(arguments)
    backing = _arguments(table.get("backing", []), folder, "backing", arguments)
    if any(spec.array is None for spec in backing.values()):
        raise LaunchFileError("[[backing]] holds arrays only", "scalars and tensor maps are parameters: [[args]]")
    arguments |= backing
    launches = table.get("launch", [{}])
    if not isinstance(launches, list) or not launches or not all(isinstance(row, dict) for row in launches):
        raise LaunchFileError("launch is not a table", "write [[launch]], then its keys")
    options, folders = _options(table.get("options", []), folder)
    return LaunchFile(
        arch=_text(table, "arch", "the file"),
        options=options,
        include_dirs=folders,
        constants=_constants(table.get("constants", {}), folder),
        arguments=arguments,
        launches=tuple(
            _launch(
                table, {"args": every} | row, f"[[launch]] number {number}" if row else "the file", arguments, folder
            )
            for number, row in enumerate(launches, 1)
        ),
    )


def _known_keys(table: Mapping, known: Iterable[str], where: str) -> None:
    for key in table:
        if key not in known:
            close = difflib.get_close_matches(key, list(known), 1)
            help = f"did you mean `{close[0]}`?" if close else f"known here: {', '.join(known)}"
            raise LaunchFileError(f"{where} has an unknown key `{key}`", help)


def _text(table: Mapping, key: str, where: str) -> str | None:
    value = table.get(key)
    if value is not None and (not isinstance(value, str) or not value):
        raise LaunchFileError(f"{where}: {key} = {value!r} is not text", f'write {key} = "…"')
    return value


def _options(options: object, folder: Path) -> tuple[tuple[str, ...], tuple[Path, ...]]:
    """Options of the compiler, folders of `-I` taken out of them."""
    if not isinstance(options, list) or not all(isinstance(option, str) for option in options):
        raise LaunchFileError(
            f"options = {options!r} is not a list of texts", 'such as options = ["-DTILE=16", "-Iinclude"]'
        )
    plain, folders, left = [], [], list(options)
    while left:
        option = left.pop(0)
        if option == "-I" and left:
            folders.append(folder / left.pop(0))
        elif option.startswith("-I"):
            folders.append(folder / option[2:])
        else:
            plain.append(option)
    for path in folders:
        if not path.is_dir():
            raise LaunchFileError(
                f"options: there is no folder {path}", "a folder of -I counts from the launch file's own"
            )
    return tuple(plain), tuple(folders)


# --- arguments


def _arguments(rows: object, folder: Path, key: str = "args", others: Iterable[str] = ()) -> dict[str, ArgumentSpec]:
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise LaunchFileError(f"{key} is not a list of tables", f"write [[{key}]] before each argument's keys")
    found: dict[str, ArgumentSpec] = {}
    for number, row in enumerate(rows, 1):
        name = row.get("name")
        where = f"[[{key}]] number {number}" + (f" `{name}`" if isinstance(name, str) else "")
        if not isinstance(name, str) or not name:
            raise LaunchFileError(f"{where} has no name", 'such as name = "x"')
        if name in found or name in others:
            raise LaunchFileError(f"{where}: the name stands twice", "give every argument a name of its own")
        try:
            found[name] = _argument(name, row, where, folder)
        except ValueSpecError as error:
            raise LaunchFileError(f"{where}: {error}", error.help) from None
    return found


def _argument(name: str, row: Mapping, where: str, folder: Path) -> ArgumentSpec:
    kind = row.get("kind", "scalar" if "value" in row and "shape" not in row else "array")
    if kind not in KINDS:
        raise LaunchFileError(f"{where}: kind = {kind!r} is not known", f"one of {', '.join(KINDS)}")
    if kind == "tensormap":
        _known_keys(row, MAP_KEYS, where)
        return ArgumentSpec(name, kind, Direction.SCALAR, value=map_spec(row))
    _known_keys(row, ARGUMENT_KEYS, where)
    if kind == "scalar" and isinstance(row.get("dtype"), list):
        members = [_dtype(member, where) for member in row["dtype"]]
        return ArgumentSpec(name, kind, Direction.SCALAR, value=struct(row.get("value"), members))
    dtype = _dtype(row.get("dtype"), where)
    if kind == "scalar":
        for key in ("shape", "init", "dir"):
            if key in row and row[key] not in ([], "scalar"):
                raise LaunchFileError(f"{where}: a scalar has no {key}", 'give it value, or kind = "array"')
        if "value" not in row:
            raise LaunchFileError(f"{where} has no value", "a scalar needs one, such as value = 1000")
        return ArgumentSpec(name, kind, Direction.SCALAR, value=scalar(row["value"], dtype))
    return _array_argument(name, row, dtype, where, folder)


def _array_argument(name: str, row: Mapping, dtype: np.dtype, where: str, folder: Path) -> ArgumentSpec:
    spec = _array_spec(row, dtype, where, folder)
    given = "init" in row or "value" in row
    direction = row.get("dir", "in" if given else "out")
    if direction not in ARRAY_DIRECTIONS:
        raise LaunchFileError(f"{where}: dir = {direction!r} is not known", f"one of {', '.join(ARRAY_DIRECTIONS)}")
    if not given and direction != "out":
        raise LaunchFileError(
            f"{where} is an input without values", 'give it init, such as init = "normal:7", or value'
        )
    return ArgumentSpec(name, "array", Direction(direction), spec)


def _array_spec(row: Mapping, dtype: np.dtype, where: str, folder: Path) -> ArraySpec:
    shape = row.get("shape")
    shape = [shape] if type(shape) is int else shape
    if not isinstance(shape, list) or not shape or not all(type(size) is int and size > 0 for size in shape):
        raise LaunchFileError(
            f"{where}: shape = {row.get('shape')!r} is not a list of sizes", "such as shape = [64, 64]"
        )
    if "init" in row and "value" in row:
        raise LaunchFileError(f"{where} has both init and value", "keep one of them")
    init = "" if "value" in row else _text(row, "init", where) or "poison"
    spec = ArraySpec(dtype, tuple(shape), init, row.get("value"), folder)
    spec.check()
    return spec


def _dtype(name: object, where: str) -> np.dtype:
    if not isinstance(name, str) or name not in DTYPES:
        close = difflib.get_close_matches(str(name), DTYPES, 1, 0.5)
        help = f"did you mean {close[0]}? " if close else ""
        got = "has no dtype" if name is None else f": dtype = {name!r} is not known"
        raise LaunchFileError(f"{where}{'' if name else ' '}{got}", f"{help}one of {', '.join(DTYPES)}")
    return np.dtype(str(name))


def _constants(table: object, folder: Path) -> dict[str, np.ndarray]:
    """Numbers as float32 or int32, or a table with dtype and the keys of an array."""
    if not isinstance(table, dict):
        raise LaunchFileError("constants is not a table", "write [constants], then name = value lines")
    found = {}
    for name, value in table.items():
        where = f"[constants] `{name}`"
        try:
            found[name] = _constant(value, where, folder)
        except ValueSpecError as error:
            raise LaunchFileError(f"{where}: {error}", error.help) from None
    return found


def _constant(value: object, where: str, folder: Path) -> np.ndarray:
    if not isinstance(value, dict):
        return literal(value, np.dtype("float32" if _has_fraction(value) else "int32"), None)
    _known_keys(value, ("dtype", "shape", "init", "value"), where)
    dtype = _dtype(value.get("dtype"), where)
    if "shape" in value:
        return _array_spec(value, dtype, where, folder).array()
    if "value" not in value:
        raise LaunchFileError(f"{where} has neither shape and init nor value", "such as value = [0.25, 0.5, 0.25]")
    return literal(value["value"], dtype, None)


def _has_fraction(value: object) -> bool:
    return isinstance(value, float) or (isinstance(value, list) and any(_has_fraction(part) for part in value))


# --- launches


def _launch(table: Mapping, row: Mapping, where: str, arguments: dict[str, ArgumentSpec], folder: Path) -> LaunchSpec:
    _known_keys(row, (*LAUNCH_KEYS, "args"), where)
    merged = {key: table[key] for key in LAUNCH_KEYS if key in table} | dict(row)
    names = _argument_names(row["args"], where, arguments, folder)
    config = LaunchConfig(
        grid=_dimension(merged, "grid", where),
        block=_dimension(merged, "block", where),
        shared_bytes=_whole(merged, "shared_bytes", where) or 0,
        max_dynamic_shared=_whole(merged, "max_dynamic_shared", where),
        cluster=_dimension(merged, "cluster", where) if "cluster" in merged else None,
        cooperative=_flag(merged, "cooperative", where),
    )
    kernel, expression = _text(merged, "kernel", where), _text(merged, "name_expression", where)
    return LaunchSpec(kernel, expression, config, names)


def _argument_names(rows: object, where: str, arguments: dict[str, ArgumentSpec], folder: Path) -> tuple[str, ...]:
    """Arguments of one launch: names of known ones, or tables that add one for this launch and those after it."""
    if not isinstance(rows, list):
        raise LaunchFileError(f"{where}: args = {rows!r} is not a list", 'such as args = ["x", "y", "n"]')
    names = []
    for row in rows:
        name = row.get("name") if isinstance(row, dict) else row
        if isinstance(row, dict) and name not in arguments:
            arguments |= _arguments([row], folder)
        elif not isinstance(name, str) or name not in arguments:
            known = ", ".join(arguments) or "none"
            raise LaunchFileError(f"{where}: no argument is called {name!r}", f"[[args]] has {known}")
        elif isinstance(row, dict) and set(row) != {"name"}:
            raise LaunchFileError(
                f"{where}: `{name}` is described twice", "describe it once; later launches only name it"
            )
        names.append(str(name))
    return tuple(names)


def _dimension(table: Mapping, key: str, where: str) -> Dim3:
    value = table.get(key)
    if value is None:
        raise LaunchFileError(f"{where} has no {key}", f"such as {key} = 256 or {key} = [16, 16]")
    try:
        return Dim3.of(value)
    except (TypeError, ValueError) as error:
        raise LaunchFileError(
            f"{where}: {key} = {value!r}: {error}", f"such as {key} = 256 or {key} = [16, 16]"
        ) from None


def _whole(table: Mapping, key: str, where: str) -> int | None:
    value = table.get(key)
    if value is not None and type(value) is not int:
        raise LaunchFileError(f"{where}: {key} = {value!r} is not a whole number", f"such as {key} = 4096")
    return value


def _flag(table: Mapping, key: str, where: str) -> bool:
    value = table.get(key, False)
    if type(value) is not bool:
        raise LaunchFileError(f"{where}: {key} = {value!r} is neither true nor false", f"{key} = true")
    return value
