"""Field cases: a folder with `case.json` and `kernel.cu` as an exercise of its own.

`case.json` gives launch, arguments (NumPy expressions), the reference per output, and what is expected of the checker.
Nothing here trusts the expressions: see `grader.numpy_expression`. An input whose elements are all equal hides an
index fault, so such a case runs once more with distinct ones where its reference can follow.
"""

from __future__ import annotations

import json
import keyword
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from grader.model import Case, Exercise, KernelAnswer, LaunchSpec, Param, Role, Submission, Tolerance
from grader.numpy_expression import ExpressionProblem, names_in, work_out
from simt.events import Argument, Direction
from simt.launch import Dim3, LaunchConfig
from simt.launch_maps import map_spec
from simt.tensor_map import TensorMap, pitched

__all__ = ["CaseProblem", "FieldCase", "Variant", "load_case", "read_case"]

MAX_ARRAY_BYTES = 1 << 30
PYTHON_SCALARS = {"python_float": float, "python_int": int}
PLAIN_INIT = {"zeros": np.zeros, "ones": np.ones, "poison": np.zeros}


class CaseProblem(ValueError):
    """A folder that is no case, or a case that is not supported; the message says what."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A case as it runs: the faulty form or the repaired one."""

    source: str
    file: Path
    config: LaunchConfig
    arguments: tuple[Argument, ...]
    want: Mapping[str, np.ndarray]
    wrong: Mapping[str, Mapping[str, np.ndarray]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FieldCase:
    """What a case folder holds; `plain` is the JSON itself."""

    folder: Path
    plain: Mapping

    @property
    def id(self) -> str:
        return str(self.plain["id"])

    @property
    def kernel(self) -> str:
        return str(self.plain["launch"]["kernel"])

    @property
    def arch(self) -> str:
        """`sm_80` for `compute_80`."""
        return str(self.plain.get("arch", "sm_80")).replace("compute_", "sm_")

    def variant(self, fixed: bool = False, *, kernel: Path | None = None, distinct: bool = False) -> Variant:
        """The case ready to run.

        Args:
            fixed: with every repair that the case names (kernel, launch, arguments).
            kernel: another text in the kernel's place.
            distinct: with distinct elements in inputs that are constant.

        Raises:
            CaseProblem: a file is missing or an expression is not accepted.
        """
        repaired = self.folder / "fixed.cu"
        file = kernel or (repaired if fixed and repaired.exists() else self.folder / "kernel.cu")
        rows = self.plain.get("fixed_args", self.plain["args"]) if fixed else self.plain["args"]
        launch = {**self.plain["launch"], **(self.plain.get("fixed_launch", {}) if fixed else {})}
        try:
            values = {row["name"]: _initial(row) for row in (*self.plain.get("backing", ()), *rows)}
            if distinct:
                values = {
                    name: _distinct(value) if name in self.constant_inputs else value for name, value in values.items()
                }
            return Variant(
                source=file.read_text(encoding="utf-8"),
                file=file,
                config=_config(launch),
                arguments=tuple(_argument(row, values, self.plain.get("backing", ())) for row in rows),
                want=_references(self.plain["reference"], rows, values),
            )
        except OSError as error:
            raise CaseProblem(f"{error.filename} cannot be read: {error.strerror}") from None
        except (ExpressionProblem, KeyError, TypeError, ValueError) as error:
            raise CaseProblem(f"{self.folder / 'case.json'}: {type(error).__name__}: {error}") from None

    @property
    def constant_inputs(self) -> frozenset[str]:
        """Inputs of one repeated value that every reference follows; empty where distinct ones prove nothing."""
        rows = [row for row in self.plain["args"] if row.get("kind") == "array" and row.get("dir") == "in"]
        found = {row["name"] for row in rows if _is_constant(_initial(row))}
        used = frozenset().union(*(names_in(text) for text in self.plain["reference"].values()))
        return frozenset(found) if found and all(_python_name(name) in used for name in found) else frozenset()

    @property
    def sizes(self) -> dict[str, int]:
        """The whole-number arguments, as the sizes of the case."""
        return {
            row["name"]: row["value"]
            for row in self.plain["args"]
            if row.get("kind") == "scalar" and type(row.get("value")) is int
        }

    def exercise(self, variant: Variant) -> Exercise:
        """The case as a row of the course, for reports and their display."""
        launch = variant.config
        return Exercise(
            id=f"case.{self.id}",
            lesson="cases",
            title=str(self.plain.get("description", self.id)),
            answer=KernelAnswer(self.kernel, {"grid": tuple(launch.grid), "block": tuple(launch.block)}),
            params=tuple(_param(argument) for argument in variant.arguments),
            cases=(Case(self.id, self.sizes, measured=True),),
            tolerance={name: _tolerance(want) for name, want in variant.want.items()},
            policy=frozenset({"device_globals", "special_registers", "cache_control"}),
        )


def read_case(folder: str | Path) -> FieldCase:
    """The case in `folder`.

    Raises:
        CaseProblem: there is none, or it needs what is not supported.
    """
    folder = Path(folder)
    try:
        plain = json.loads((folder / "case.json").read_text(encoding="utf-8"))
    except OSError as error:
        raise CaseProblem(f"{folder / 'case.json'} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise CaseProblem(f"{folder / 'case.json'} is not JSON: {error}") from None
    for key in ("id", "launch", "args", "reference"):
        if not isinstance(plain, dict) or key not in plain:
            raise CaseProblem(f"{folder / 'case.json'} has no {key!r}")
    return FieldCase(folder, plain)


def load_case(folder: str | Path, kernel: Path | None = None, *, fixed: bool = False) -> tuple[Exercise, Submission]:
    """The case in `folder` as an exercise and the answer to it.

    Raises:
        CaseProblem: there is none, or it needs what is not supported.
    """
    case = read_case(folder)
    variant = case.variant(fixed, kernel=kernel)
    config = variant.config
    spec = LaunchSpec(tuple(config.grid), tuple(config.block), config.shared_bytes)
    return case.exercise(variant), Submission(f"case.{case.id}", variant.source, spec, origin=(str(variant.file), 1))


def _config(launch: Mapping) -> LaunchConfig:
    cluster = launch.get("cluster")
    return LaunchConfig(
        Dim3.of(launch["grid"]),
        Dim3.of(launch["block"]),
        int(launch.get("shared_bytes", 0)),
        launch.get("max_dynamic_shared"),
        Dim3.of(cluster) if cluster else None,
        bool(launch.get("cooperative", False)),
    )


def _python_name(name: str) -> str:
    """`in_` for `in`, which an expression cannot name."""
    return f"{name}_" if keyword.iskeyword(name) else name


def _initial(row: Mapping) -> object:
    """The value an argument starts with: an array in the layout that its expression gives it, or a scalar."""
    if row["kind"] == "scalar":
        dtype = row["dtype"]
        return PYTHON_SCALARS[dtype](row["value"]) if dtype in PYTHON_SCALARS else np.dtype(dtype).type(row["value"])
    if row["kind"] != "array":
        return None
    dtype, shape = np.dtype(row["dtype"]), tuple(row["shape"])
    if (size := int(np.prod(shape, dtype=object)) * dtype.itemsize) > MAX_ARRAY_BYTES:
        raise CaseProblem(f"{row['name']} has {size} bytes, more than {MAX_ARRAY_BYTES}")
    init = row.get("init", "zeros")
    if init in PLAIN_INIT:
        return PLAIN_INIT[init](shape, dtype)
    value = np.asarray(work_out(init, {}))
    if value.dtype != dtype or value.shape != shape:
        raise CaseProblem(f"{row['name']} is {value.dtype} of shape {value.shape}, not {dtype} of {shape}")
    return value


def _is_constant(value: object) -> bool:
    return isinstance(value, np.ndarray) and value.size > 1 and bool((value == value.flat[0]).all())


def _distinct(value: object) -> np.ndarray:
    """`value` with a small amount added that no two neighbours share."""
    assert isinstance(value, np.ndarray)
    return value + (np.arange(value.size) % 97).reshape(value.shape).astype(value.dtype)


def _argument(row: Mapping, values: Mapping[str, object], backing: Iterable[Mapping] = ()) -> Argument:
    name = row["name"]
    if row["kind"] == "tensormap":
        return Argument(name, Direction.SCALAR, _tensor_map(row, values, backing))
    if row["kind"] == "scalar":
        return Argument(name, Direction.SCALAR, values[name], python_scalar=row["dtype"] in PYTHON_SCALARS)
    if row["kind"] != "array":
        raise CaseProblem(f"{name} is a {row['kind']}, which this machine's devices do not take yet")
    value = values.get(row.get("base", name), values[name])
    offset = int(row.get("offset_bytes", 0)) or int(row.get("offset", 0)) * np.dtype(row["dtype"]).itemsize
    initialised = False if row.get("init") == "poison" else None
    return Argument(name, Direction(row["dir"]), value, initialised=initialised, offset_bytes=offset)


def _tensor_map(row: Mapping, values: Mapping[str, object], backing: Iterable[Mapping]) -> TensorMap:
    """A map over an array of the launch, or over backing memory laid out with the map's own strides."""
    spec, array = map_spec(row), values[row["base"]]
    assert isinstance(array, np.ndarray)
    behind = next((held for held in backing if held["name"] == spec.base), None)
    tensor_map = spec.tensor_map(array.shape, str(array.dtype))
    if behind is None:
        return tensor_map
    return replace(tensor_map, backing=_argument(behind, {spec.base: pitched(array, tensor_map)}))


def _references(texts: Mapping[str, str], rows, values: Mapping[str, object]) -> dict[str, np.ndarray]:
    """Each output's reference over the inputs, floats in double precision."""
    names = {_python_name(name): _in_double(value) for name, value in values.items()}
    want = {name: np.asarray(work_out(text, names)) for name, text in texts.items()}
    outputs = [row["name"] for row in rows if row.get("dir") in ("out", "inout")]
    if len(want) == 1 and len(outputs) == 1:
        # A repair may write to another array than the faulty kernel did.
        return {outputs[0]: next(iter(want.values()))}
    return {name: value for name, value in want.items() if name in outputs}


def _in_double(value: object) -> object:
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind == "f":
        return value.astype(np.float64)
    return value


def _param(argument: Argument) -> Param:
    value = argument.value
    dtype = str(value.dtype) if isinstance(value, (np.ndarray, np.generic)) else type(value).__name__
    return Param(argument.name, dtype, Role(str(argument.direction)), getattr(value, "shape", ()))


def _tolerance(want: np.ndarray) -> Tolerance:
    if want.dtype.kind != "f":
        return Tolerance()
    finite = np.abs(want[np.isfinite(want)])
    scale = float(finite.max()) if finite.size else 0.0
    return Tolerance(1e-5, 1e-6 * scale, "float32 sums of up to some hundred terms")
