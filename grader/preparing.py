"""From a case to what a device is given: sizes, launch, inputs, the reference, arguments.

Everything an exercise promises is checked here once (names, types, shapes), so that a fault in a row of the course is
found as such and never blamed on a student.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from grader.model import Case, Exercise, LaunchSpec, Param, Role
from grader.notebook.literals import LiteralProblem, evaluate, launch_config
from grader.verify import call_with
from simt.arch import arch as arch_of
from simt.diagnostics import Diagnostic, diagnose
from simt.events import Argument, Direction
from simt.launch import LaunchConfig, check_launch

__all__ = ["ExerciseFault", "Prepared", "launch_findings", "prepare_case", "prepare_inputs"]

# More than any lesson launches, and less than what would keep a machine busy for no reason.
MAX_THREADS = 1 << 28


class ExerciseFault(RuntimeError):
    """A row of the course contradicts itself."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """One case, ready to run."""

    case: Case
    inputs: Mapping[str, object]
    want: Mapping[str, np.ndarray]
    arguments: tuple[Argument, ...]

    @property
    def memory_bytes(self) -> int:
        """Of all buffers together."""
        return sum(a.value.nbytes for a in self.arguments if isinstance(a.value, np.ndarray))


def prepare_case(exercise: Exercise, case: Case) -> Prepared:
    """The inputs of `case`, seeded by it, and the reference's outputs.

    Raises:
        ExerciseFault: the row's inputs or reference do not fit its parameters.
    """
    prepared = prepare_inputs(exercise, case)
    assert exercise.reference is not None
    want = call_with(exercise.reference, {k: _copy(v) for k, v in prepared.inputs.items()}, case.sizes)
    for param in exercise.params:
        if param.role in (Role.OUT, Role.INOUT) and param.name not in want:
            raise ExerciseFault(f"the reference of {exercise.id} gives no {param.name}")
    return replace(prepared, want={name: np.asarray(value) for name, value in want.items()})


def prepare_inputs(exercise: Exercise, case: Case) -> Prepared:
    """The same without the reference's outputs, for launches whose contents will change.

    Raises:
        ExerciseFault: the row's inputs do not fit its parameters.
    """
    if exercise.inputs is None or exercise.reference is None:
        raise ExerciseFault(f"{exercise.id} has no inputs or no reference")
    rng = np.random.default_rng([case.seed & (2**63 - 1), zlib.crc32(exercise.id.encode())])
    given = exercise.inputs(case.sizes, rng)
    inputs = {p.name: _input(exercise, p, given, case.sizes) for p in exercise.params if p.role is not Role.OUT}
    return Prepared(case, inputs, {}, tuple(_argument(p, inputs, case.sizes) for p in exercise.params))


def _copy(value: object) -> object:
    return value.copy() if isinstance(value, np.ndarray) else value


def _shape(param: Param, sizes: Mapping[str, int]) -> tuple[int, ...]:
    try:
        return tuple(part if isinstance(part, int) else int(evaluate(part, sizes)) for part in param.shape)
    except LiteralProblem as problem:
        raise ExerciseFault(f"the shape of {param.name}: {problem.message}") from None


def _input(exercise: Exercise, param: Param, given: Mapping[str, object], sizes: Mapping[str, int]) -> object:
    if param.name not in given:
        raise ExerciseFault(f"{exercise.id} makes no input called {param.name}")
    value = given[param.name]
    if param.role is Role.SCALAR:
        return np.dtype(param.dtype).type(value)
    array = np.ascontiguousarray(value)
    if array.dtype != param.dtype or array.shape != _shape(param, sizes):
        wanted = f"{param.dtype} of shape {_shape(param, sizes)}"
        raise ExerciseFault(f"{exercise.id}: {param.name} is {array.dtype} of shape {array.shape}, not {wanted}")
    return array


def _argument(param: Param, inputs: Mapping[str, object], sizes: Mapping[str, int]) -> Argument:
    if param.role is Role.OUT:
        return Argument(param.name, Direction.OUT, np.zeros(_shape(param, sizes), param.dtype))
    return Argument(param.name, Direction(str(param.role)), inputs[param.name])


def launch_findings(
    spec: LaunchSpec, case: Case, arch: str, label: str = ""
) -> tuple[LaunchConfig | None, tuple[Diagnostic, ...]]:
    """The launch of `case`, and everything for which it would not start (registers aside: they need a build)."""
    where = f" ({label}case {case.name})" if not case.hidden else " (a hidden case)"
    try:
        config = launch_config(spec, case.sizes)
    except LiteralProblem as problem:
        return None, (diagnose("launch.literal", f"{problem.message}{where}", help=problem.help),)
    findings = check_launch(config, arch_of(arch))
    threads = config.grid.volume * config.block.volume
    if not findings and threads > MAX_THREADS:
        findings = (
            diagnose(
                "launch.grid-limit",
                f"{threads} threads in the grid, more than the {MAX_THREADS} that the grader launches",
                help="a grid needs about one thread per element; check grid and block over the case's sizes",
            ),
        )
    return config, findings
