"""What `simt run` does: a kernel file and a launch file become a `RunReport`.

Launches of one file run in order on the same buffers: an output is poisoned before the first launch that takes it and
keeps its values from then on.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from simt.arch import UnknownArch, arch
from simt.cli_programs import KernelUnreadable, constants_of, program_of, read_kernel
from simt.counters import Counters, add
from simt.diagnostics import Diagnostic, Severity, diagnose
from simt.events import ALL_CHECKS, Argument, Budget, Direction, LaunchResult, Status
from simt.launch_file import (
    ArgumentSpec,
    LaunchFile,
    LaunchFileError,
    LaunchFileUnreadable,
    LaunchSpec,
    read_launch_file,
)
from simt.launch_maps import MapSpec
from simt.launch_values import ValueSpecError
from simt.program import BuildFailed, Program
from simt.suppress import Suppressed, Suppression, SuppressionFileError, find_suppression, read_suppressions, unused
from simt.tensor_map import TensorMap
from simt.warp_trace import WarpRequest

__all__ = ["EXIT", "LaunchRun", "RunOptions", "RunReport", "run_files"]

DEFAULT_ARCH = "sm_80"
INTERNAL_FAILURE = 5
EXIT = {
    Status.OK: 0,
    Status.FINDINGS: 1,
    Status.STOPPED: 1,
    Status.REJECTED: 1,
    Status.BUILD_FAILED: 2,
    Status.UNREADABLE: 2,
    Status.NOT_SUPPORTED: 3,
    Status.BUDGET: 4,
}
_SHARED_COVERAGE = ("coverage.unwritten-output", "coverage.unread-input")


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What the command line adds to the two files; `arch` None takes the launch file's."""

    arch: str | None = None
    checks: frozenset[str] = ALL_CHECKS
    threads: int | None = None
    budget: Budget = Budget()
    suppress: Path | None = None  # a file of findings that are accepted
    steps: WarpRequest | None = None  # a warp to follow in every launch


@dataclass(frozen=True, slots=True)
class LaunchRun:
    """One launch: the program it ran, as it was asked for, what it gave, and what it was given."""

    program: Program
    spec: LaunchSpec
    result: LaunchResult
    arguments: tuple[Argument, ...] = ()
    constants: dict[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunReport:
    """What a run of the command has to tell.

    Attributes:
        file_name, source: the kernel's file; no source is known for PTX.
        outputs: OUT and INOUT buffers after the last launch, inputs too when a kernel changed them.
        seconds: compile, translate, run.
        suppressed: findings that the suppression file accepts, which count for nothing else.
    """

    status: Status
    file_name: str
    source: str
    arch: str
    checks: frozenset[str]
    runs: tuple[LaunchRun, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    outputs: dict[str, np.ndarray] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    suppressed: tuple[Suppressed, ...] = ()

    @property
    def exit_status(self) -> int:
        """0 to 4 as the command promises; a clean run of no block at all would be our own mistake."""
        if self.status is Status.OK and not self.blocks_run:
            return INTERNAL_FAILURE
        return EXIT[self.status]

    @property
    def blocks_run(self) -> int:
        return sum(run.result.blocks_run for run in self.runs)

    @property
    def blocks_total(self) -> int:
        return sum(run.result.blocks_total for run in self.runs)

    @property
    def accesses_checked(self) -> int:
        """Lane accesses that a check of memory looked at."""
        looked = self.checks & {"memcheck", "racecheck", "initcheck"}
        return sum(run.result.accesses_checked for run in self.runs) if looked else 0

    @property
    def printed(self) -> str:
        return "".join(run.result.printed for run in self.runs)

    @property
    def counters(self) -> Counters:
        return add(*(run.result.counters for run in self.runs))

    @property
    def by_line(self) -> dict[int, Counters]:
        lines = sorted({line for run in self.runs for line in run.result.by_line})
        return {line: add(*(run.result.by_line.get(line, Counters()) for run in self.runs)) for line in lines}


def run_files(kernel: Path, launch: Path, options: RunOptions = RunOptions()) -> RunReport:
    """Compiles, launches and reports; whatever is wrong with the files is a finding, not an exception."""
    empty = RunReport(Status.REJECTED, kernel.name, "", options.arch or DEFAULT_ARCH, options.checks)
    try:
        source = read_kernel(kernel)
        empty = replace(empty, source="" if kernel.suffix == ".ptx" else source)
        file = read_launch_file(launch)
        name = options.arch or file.arch or DEFAULT_ARCH
        arch(name)
        entries = read_suppressions(options.suppress) if options.suppress else ()
    except (KernelUnreadable, LaunchFileUnreadable) as error:
        found = diagnose("host.unreadable", str(error), help=error.help)
        return replace(empty, status=Status.UNREADABLE, diagnostics=(found,))
    except LaunchFileError as error:
        return replace(empty, diagnostics=(diagnose("launch.file", str(error), help=error.help),))
    except SuppressionFileError as error:
        return replace(empty, diagnostics=(diagnose("suppress.file", str(error), help=error.help),))
    except UnknownArch as error:
        return replace(empty, diagnostics=(diagnose("launch.file", str(error), help="leave arch out for sm_80"),))
    return _Runner(kernel, source, file, replace(empty, arch=name), options, entries).run()


class _Runner:
    """Runs the launches of one file; buffers stay between them."""

    def __init__(
        self, kernel: Path, source: str, file: LaunchFile, empty: RunReport, options: RunOptions,
        entries: tuple[Suppression, ...],
    ):  # fmt: skip
        self.kernel, self.source, self.file, self.empty, self.options = kernel, source, file, empty, options
        self.entries, self.suppressed = entries, list[Suppressed]()
        self.programs: dict[tuple[str | None, str | None], Program] = {}
        self.arrays: dict[str, np.ndarray] = {}
        self.changed: dict[str, np.ndarray] = {}
        self.shadows: dict[str, np.ndarray] = {}
        self.diagnostics: list[Diagnostic] = []
        self.seconds = dict.fromkeys(("compile", "translate", "run"), 0.0)

    def run(self) -> RunReport:
        runs: list[LaunchRun] = []
        status = Status.OK
        for number, spec in enumerate(self.file.launches):
            try:
                run = self._launch(number, spec)
            except BuildFailed as error:
                self.diagnostics.extend(error.diagnostics)
                status = Status.BUILD_FAILED
                break
            except (LaunchFileError, ValueSpecError) as error:
                self.diagnostics.append(diagnose("launch.file", str(error), help=error.help))
                status = Status.REJECTED
                break
            runs.append(run)
            if run.result.status not in (Status.OK, Status.FINDINGS):
                status = run.result.status
                break
        if status is Status.OK and any(d.severity is Severity.ERROR for d in self.diagnostics):
            status = Status.FINDINGS
        if self.options.suppress:
            self.diagnostics.extend(unused(self.entries, self.suppressed, self.options.suppress.name))
        found = tuple(dict.fromkeys(self.diagnostics))
        return replace(
            self.empty, status=status, runs=tuple(runs), diagnostics=found, outputs=self._outputs(), seconds=self.seconds,
            suppressed=tuple(dict.fromkeys(self.suppressed)),
        )  # fmt: skip

    def _launch(self, number: int, spec: LaunchSpec) -> LaunchRun:
        program = self._program(spec)
        self._check_memory()
        arguments = [self._argument(self.file.arguments[name], spec) for name in spec.arguments]
        constants = constants_of(program, self.file.constants)
        result = program.launch(
            spec.config, arguments, checks=self.options.checks, budget=self.options.budget, threads=self.options.threads,
            constants=constants, steps=self._steps(spec),
        )  # fmt: skip
        for name in ("translate", "run"):
            self.seconds[name] += result.seconds.get(name, 0.0)
        self._keep(number, spec, program, result)
        return LaunchRun(program, spec, result, tuple(arguments), constants)

    def _steps(self, spec: LaunchSpec) -> WarpRequest | None:
        """The warp to follow; raises `LaunchFileError` for one that the launch does not have."""
        wanted, config = self.options.steps, spec.config
        if wanted is None or min(*config.grid, *config.block) < 1:
            return None
        warps = -(-config.block.volume // 32)
        if wanted.warp >= warps or any(at >= size for at, size in zip(wanted.block, config.grid)):
            raise LaunchFileError(
                f"there is no warp {wanted.warp} of block {wanted.block}: grid {config.grid}, {warps} warps a block",
                "blocks and warps count from 0, as in --trace 0,0,0:1",
            )
        return wanted

    def _check_memory(self) -> None:
        """Raises `LaunchFileError` before arrays are made that no launch could take."""
        n_bytes = sum(spec.array.n_bytes for spec in self.file.arguments.values() if spec.array)
        most = self.options.budget.memory_bytes
        if n_bytes > most:
            raise LaunchFileError(
                f"the arguments take {n_bytes / 2**30:.1f} GiB, more than the {most / 2**30:.1f} GiB of a run",
                "run a smaller size; counters scale with it",
            )

    def _program(self, spec: LaunchSpec) -> Program:
        """The program of a launch, compiled once for each kernel and instance."""
        key = (spec.kernel, spec.name_expression)
        if key not in self.programs:
            started = time.perf_counter()
            self.programs[key] = program = program_of(self.kernel, self.source, self.file, self.empty.arch, spec)
            self.seconds["compile"] += time.perf_counter() - started
            for found in program.build.diagnostics if program.build is not None else ():
                self._tell(found, spec, program)
        return self.programs[key]

    def _argument(self, spec: ArgumentSpec, launch: LaunchSpec) -> Argument:
        if isinstance(spec.value, MapSpec):
            return Argument(spec.name, Direction.SCALAR, self._map(spec.name, spec.value, launch))
        if spec.array is None:
            return Argument(spec.name, Direction.SCALAR, spec.value)
        ready = not spec.array.is_poison
        if spec.name in self.shadows:
            return Argument(spec.name, spec.direction, self.arrays[spec.name], ready, shadow=self.shadows[spec.name])
        plain = spec.array.shape, spec.array.dtype
        self.arrays[spec.name] = spec.array.array() if ready else np.empty(*plain)
        return Argument(spec.name, spec.direction, self.arrays[spec.name], ready)

    def _map(self, name: str, spec: MapSpec, launch: LaunchSpec) -> TensorMap:
        """A tensor map, with its array unless the kernel takes that as a parameter too."""
        behind = self.file.arguments.get(spec.base)
        if behind is None or behind.array is None:
            raise LaunchFileError(
                f"`{name}`: no array is called `{spec.base}`", "describe it in [[args]] or [[backing]]"
            )
        backing = None if spec.base in launch.arguments else self._argument(behind, launch)
        return spec.tensor_map(behind.array.shape, str(behind.array.dtype), backing)

    def _keep(self, number: int, spec: LaunchSpec, program: Program, result: LaunchResult) -> None:
        """Takes over buffers and findings; whether a buffer is covered is left to the last launch that takes it."""
        for name, array in result.outputs.items():
            self.arrays[name] = array
            if name in result.modified_inputs:
                self.changed[name] = array
                found = diagnose(
                    "input-modified", f"the kernel changed `{name}`, which the launch file calls an input",
                    help='say dir = "inout" where a kernel may write',
                )  # fmt: skip
                self._tell(found, spec, program)
        self.shadows |= result.shadows
        later = {name for launch in self.file.launches[number + 1 :] for name in self._reached(launch)}
        for found in result.diagnostics:
            if found.check in _SHARED_COVERAGE and any(f"`{name}`" in found.message for name in later):
                continue
            self._tell(found, spec, program)

    def _reached(self, launch: LaunchSpec) -> set[str]:
        """Arrays that a launch takes, and those behind its tensor maps."""
        values = {
            self.file.arguments[name].value
            for name in launch.arguments
            if self.file.arguments[name].kind == "tensormap"
        }
        return set(launch.arguments) | {value.base for value in values if isinstance(value, MapSpec)}

    def _tell(self, found: Diagnostic, spec: LaunchSpec, program: Program) -> None:
        """Takes over a finding of a launch, as one that is accepted where an entry says so."""
        entry = find_suppression(found, program.kernel, spec.name_expression, self.entries)
        if entry is None:
            self.diagnostics.append(found)
        else:
            self.suppressed.append(Suppressed(found, entry))

    def _outputs(self) -> dict[str, np.ndarray]:
        wanted = (n for n, spec in self.file.arguments.items() if spec.direction in (Direction.OUT, Direction.INOUT))
        return {name: self.arrays[name] for name in wanted if name in self.shadows} | self.changed
