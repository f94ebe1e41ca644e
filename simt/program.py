"""The facade: CUDA C++ or PTX in, launches out. The only file that wires every stage together.

program = Program.from_cuda(source, kernel="saxpy")
result = program.launch(LaunchConfig(Dim3(4), Dim3(256)), [
    Argument("x", Direction.IN, x), Argument("y", Direction.OUT, np.empty_like(x)),
    Argument("n", Direction.SCALAR, np.int32(x.size))])
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from simt.arch import arch as arch_of
from simt.codegen.plan import make_plan
from simt.codegen.prepare import Unsupported
from simt.codegen.runtime import runtime
from simt.counters import Counters
from simt.diagnostics import Diagnostic, Severity, diagnose
from simt.events import ALL_CHECKS, Argument, Budget, Direction, LaunchResult, Status
from simt.kernel_names import find_kernels, missing_kernel
from simt.launch import LaunchConfig, check_launch, with_declared_cluster
from simt.nvrtc_cache import cache_folder
from simt.occupancy_cooperative import check_cooperative
from simt.ptx.lexer import PtxSyntaxError
from simt.ptx.lines import student_line
from simt.ptx.parser import parse
from simt.ptx.syntax import Function, Module
from simt.runner.arguments import check_arguments
from simt.runner.launch import Kernel, Raw, check_bits, run
from simt.runner.limits import argument_findings, plan_findings
from simt.runner.report import read_diagnostics, read_printed, read_trace
from simt.runner.steps import read_steps
from simt.runner.tally import tally
from simt.tensor_map import backing_arguments
from simt.warp_trace import WarpRequest, WarpTrace

if TYPE_CHECKING:
    from simt.codegen.plan import Plan
    from simt.gpus import Gpu
    from simt.nvrtc import Build
    from simt.nvrtc_log import KernelResources
    from simt.runner.estimating import LaunchEstimate

__all__ = ["BuildFailed", "Program", "load_runtime"]


DEFAULT_BUDGET = Budget()


class BuildFailed(Exception):
    """The CUDA text did not become a kernel; `diagnostics` say why, `build` is NVRTC's answer where there is one."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...], build: Build | None = None):
        super().__init__("\n".join(d.message for d in diagnostics) or "the kernel was not built")
        self.diagnostics, self.build = diagnostics, build


@dataclass(frozen=True)
class Program:
    """A kernel that is ready to launch.

    Attributes:
        source: the student's text, "" when only PTX is known.
        kernel: the entry's name in the PTX.
        resources: registers, spills and shared bytes as ptxas gave them, None when nothing was assembled.
        build: NVRTC's answer, None for a program made from PTX.
    """

    source: str
    ptx: str
    kernel: str
    arch: str
    module: Module
    resources: KernelResources | None = None
    build: Build | None = None
    file_name: str = "kernel.cu"
    _kernels: dict = field(default_factory=dict, repr=False)

    @classmethod
    def from_cuda(
        cls,
        source: str,
        *,
        kernel: str | None = None,
        arch: str = "sm_80",
        name_expression: str | None = None,
        **options,
    ) -> Program:
        """Compiles CUDA C++.

        Args:
            source: the text.
            kernel: the entry's name; None takes the only one.
            arch: what to compile for.
            name_expression: an instance such as `gemm<128, 8>` instead of a plain name.
            options: further keywords of `simt.nvrtc.compile_cuda`.

        Raises:
            BuildFailed: it does not compile, or there is no such kernel.
        """
        from simt.nvrtc import compile_cuda

        expressions = (name_expression,) if name_expression else ()
        build = compile_cuda(source, arch=arch, name_expressions=expressions, **options)
        if not build.ok:
            raise BuildFailed(build.diagnostics, build)
        wanted = build.names.get(name_expression or "", kernel)
        module, name = _module(build.ptx, wanted, source, build)
        file_name = options.get("file_name", "kernel.cu")
        return cls(source, build.ptx, name, arch, module, build.resources.get(name), build, file_name)

    @classmethod
    def from_ptx(cls, ptx: str, *, kernel: str | None = None, arch: str = "sm_80", source: str = "") -> Program:
        """Reads PTX text.

        Raises:
            BuildFailed: it cannot be read, or there is no such kernel.
        """
        module, name = _module(ptx, kernel, source, None)
        return cls(source, ptx, name, arch, module)

    def launch(
        self,
        config: LaunchConfig,
        arguments: Sequence[Argument],
        *,
        checks: frozenset[str] = ALL_CHECKS,
        budget: Budget = DEFAULT_BUDGET,
        threads: int | None = None,
        want_writers: bool = False,
        trace: int = 0,
        constants: Mapping[str, bytes] | None = None,
        steps: WarpRequest | None = None,
    ) -> LaunchResult:
        """Runs one launch; arguments are copied in and nothing of the caller's is changed.

        Args:
            config: grid, block and shared memory.
            arguments: one for each parameter, in order.
            checks: names out of `ALL_CHECKS`.
            budget: limits; the first one met ends the launch with status `BUDGET`.
            threads: native threads, None for all cores; results do not depend on it.
            want_writers: also tell which thread wrote each word last.
            trace: > 0 records up to that many memory requests, single-threaded in block order.
            constants: bytes for `__constant__` variables by name.
            steps: a warp to follow instruction by instruction, by code made for that alone.
        """
        config, refused = self._refusals(config, arguments, budget)
        if any(d.severity is Severity.ERROR for d in refused):
            return _ended(Status.REJECTED, refused, config, checks)
        started = time.perf_counter()
        try:
            kernel = self._kernel(config, steps is not None)
            assembled = self.resources is not None
            refused += plan_findings(kernel.plan, config, arch_of(self.arch), budget, assembled=assembled)
            if any(d.severity is Severity.ERROR for d in refused):
                return _ended(Status.REJECTED, refused, config, checks)
            kernel.full_address()
        except Unsupported as error:
            return _ended(Status.NOT_SUPPORTED, (*refused, self._unsupported(error)), config, checks)
        except PtxSyntaxError as error:
            return _ended(Status.BUILD_FAILED, (*refused, _unreadable(error)), config, checks)
        shared = _shared_bytes(kernel.plan, config)
        translate, before = time.perf_counter() - started, kernel.seconds
        raw = run(
            kernel, tuple(config.grid), tuple(config.block), shared, arguments, checks=check_bits(checks, want_writers),
            budget=budget, threads=threads, trace=trace, constants=dict(constants or {}), steps=steps,
            cluster=tuple(config.cluster) if config.cluster else None, cooperative=config.cooperative,
        )  # fmt: skip
        masked = kernel.seconds - before  # translated while the launch ran
        seconds = {"translate": translate + masked, "run": max(0.0, raw.seconds - masked)}
        result = _result(self, raw, refused, checks, trace, seconds)
        followed = None if steps is None else read_steps(raw.plan, raw.launch, steps, self.kernel, self.source)
        return replace(result, warp_trace=followed)

    def trace(
        self, config: LaunchConfig, arguments: Sequence[Argument], *, block: tuple[int, int, int] = (0, 0, 0), warp: int = 0,
        limit: int = 10_000, constants: Mapping[str, bytes] | None = None,
    ) -> WarpTrace:  # fmt: skip
        """The way of one warp through a launch, at most `limit` steps of it.

        Raises:
            ValueError: there is no such block or warp, or the launch did not run; the message says why.
        """
        warps = -(-config.block.volume // 32)
        if any(at >= size for at, size in zip(block, config.grid)) or warp >= warps:
            raise ValueError(
                f"the launch has {config.grid} blocks of {warps} warps; there is no warp {warp} of block {block}"
            )
        result = self.launch(config, arguments, constants=constants, steps=WarpRequest(block, warp, limit))
        if result.warp_trace is None:
            raise ValueError("; ".join(found.message for found in result.diagnostics) or str(result.status))
        return result.warp_trace

    def estimates(
        self, config: LaunchConfig, arguments: Sequence[Argument], gpus: Iterable[Gpu], *, quick: bool = False,
        constants: Mapping[str, bytes] | None = None, budget: Budget = DEFAULT_BUDGET,
    ) -> tuple[tuple[Diagnostic, ...], tuple[LaunchEstimate, ...]]:  # fmt: skip
        """(why the launch is refused, its estimated time on each GPU): the second is empty when an error is among the first.

        A few blocks run and work in the arguments' own arrays. `quick` samples less of them.

        Raises:
            Unsupported: an instruction that simt does not run.
        """
        from simt.runner.estimating import FULL, QUICK, estimate_launch

        config, refused = self._refusals(config, arguments, budget)
        if any(d.severity is Severity.ERROR for d in refused):
            return refused, ()
        kernel = self._kernel(config)
        registers = self.resources.registers if self.resources else None
        return refused, estimate_launch(
            kernel, config, _shared_bytes(kernel.plan, config), registers, arguments, gpus, QUICK if quick else FULL,
            dict(constants or {}),
        )  # fmt: skip

    def _refusals(
        self, config: LaunchConfig, arguments: Sequence[Argument], budget: Budget
    ) -> tuple[LaunchConfig, tuple[Diagnostic, ...]]:
        """The launch with the cluster that the kernel itself declares, and why it is refused."""
        resources = self.resources
        static = resources.static_shared_bytes if resources else 0
        registers = resources.registers if resources else None
        function = self.module.functions[self.kernel]
        config, found = with_declared_cluster(config, function.directives.get("reqnctapercluster"))
        architecture = arch_of(self.arch)
        found += check_launch(config, architecture, static_shared_bytes=static, registers=registers)
        found += check_cooperative(config, architecture, static + config.shared_bytes, registers)
        found += check_arguments(function, arguments, self.source) + _promise(function, config)
        return config, found + argument_findings((*arguments, *backing_arguments(arguments)), budget)

    def _kernel(self, config: LaunchConfig, followed: bool = False) -> Kernel:
        """Plans and machine code are kept per block shape, apart for kernels that are followed."""
        shape = (config.block.x, config.block.y, config.block.z)
        if (shape, followed) not in self._kernels:
            plan = make_plan(self.module, self.kernel, shape, self.file_name)
            plan.steps = {} if followed else None
            self._kernels[shape, followed] = Kernel(plan, _runtime_folder())
        return self._kernels[shape, followed]

    def _unsupported(self, error: Unsupported) -> Diagnostic:
        instruction = error.instruction
        line = student_line(instruction.location, self.module, self.file_name) if instruction else None
        where = f" (PTX line {instruction.ptx_line}: `{instruction.opcode}`)" if instruction else ""
        return diagnose(
            "ptx.unsupported",
            f"simt does not run this: {error}{where}",
            line=line,
            help="docs/ptx_coverage.md lists what runs; a GPU runs the rest",
        )


def _shared_bytes(plan: Plan, config: LaunchConfig) -> int:
    """Of a block, static and dynamic."""
    return plan.dynamic_shared_offset + config.shared_bytes if config.shared_bytes else plan.static_shared_bytes


def _promise(function: Function, config: LaunchConfig) -> tuple[Diagnostic, ...]:
    """A block larger than the kernel's `__launch_bounds__` promised."""
    sizes = function.directives.get("maxntid") or function.directives.get("reqntid")
    most = int(np.prod(sizes)) if sizes else 0
    if not most or config.block.volume <= most:
        return ()
    return (
        diagnose(
            "launch.threads-per-block",
            f"{config.block.volume} threads in a block, but `__launch_bounds__` promised the compiler at most {most}: the "
            "kernel does not start",
            help=f"launch at most {most} threads a block, or raise the bound",
        ),
    )


def _runtime_folder() -> Path:
    return cache_folder() / "runtime"


def load_runtime() -> None:
    """Loads the engine's machine code, made and kept where the cache has none: before a process may no longer write."""
    runtime(_runtime_folder())


def _module(ptx: str, kernel: str | None, source: str, build: Build | None) -> tuple[Module, str]:
    names = find_kernels(ptx)
    if kernel is None:
        if len(names) != 1:
            listed = ", ".join(f"`{n}`" for n in names) or "none"
            found = diagnose("host.kernel-not-found", f"which kernel? The text has {listed}", help="name one")
            raise BuildFailed((found,), build)
        kernel = names[0]
    missing = missing_kernel(kernel, ptx, source)
    if missing is not None:
        raise BuildFailed((missing,), build)
    try:
        return parse(ptx, roots=(kernel,)), kernel
    except PtxSyntaxError as error:
        raise BuildFailed((_unreadable(error),), build) from None


def _unreadable(error: PtxSyntaxError) -> Diagnostic:
    return diagnose("ptx.invalid", str(error), help="is this PTX text?")


def _ended(status: Status, found, config: LaunchConfig, checks: frozenset[str]) -> LaunchResult:
    total = config.grid.volume if min(config.grid) > 0 else 0
    return LaunchResult(status, {}, Counters(), {}, tuple(found), 0, total, 0, checks=checks)


def _result(program: Program, raw: Raw, refused, checks: frozenset[str], trace: int, seconds: dict) -> LaunchResult:
    counters, by_line = tally(raw.plan, raw.threads)
    found = tuple(refused) + read_diagnostics(program, raw, checks, by_line)
    outputs, modified, writers, shadows = {}, [], {}, {}
    for buffer in raw.memory.buffers:
        argument = buffer.argument
        if argument is None:
            continue
        array = buffer.data.view(buffer.dtype).reshape(buffer.shape)
        shadows[argument.name] = buffer.words[: -(-buffer.data.size // 4)]
        if argument.direction is Direction.IN:
            given = np.ascontiguousarray(argument.value).reshape(-1).view(np.uint8)
            if not np.array_equal(buffer.data, given):
                modified.append(argument.name)
                outputs[argument.name] = array
            continue
        outputs[argument.name] = array
        if buffer.writers is not None:
            writers[argument.name] = buffer.writers
    status = _status(raw, found)
    return LaunchResult(
        status, outputs, counters, by_line, found, raw.blocks_run, raw.launch.n_blocks,
        sum(int(t.thread.accesses) for t in raw.threads), tuple(modified), writers or None, read_printed(raw),
        seconds, checks, read_trace(raw) if trace else (),
        shadows,
    )  # fmt: skip


def _status(raw: Raw, found: tuple[Diagnostic, ...]) -> Status:
    if raw.outcome in ("instructions", "seconds"):
        return Status.BUDGET
    if raw.outcome == "stopped":
        return Status.STOPPED
    return Status.FINDINGS if any(d.severity is Severity.ERROR for d in found) else Status.OK
