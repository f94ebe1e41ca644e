"""The device that every machine has: `simt`, which also counts and checks."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from grader.devices.base import CASE_BUDGET
from grader.model_runs import Compiled, Resources, RunResult, TimedKernel, TimingPair
from grader.model_timing import Basis, Timing, TimingPlan
from simt.counters import Counters
from simt.events import Argument, Budget, LaunchResult, Status
from simt.gpus import gpu
from simt.launch import LaunchConfig

if TYPE_CHECKING:
    from grader.timing.trace import Trace
    from simt.nvrtc_log import KernelResources
    from simt.program import Program

__all__ = ["Simulator"]

ARCHES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
KEPT_PROGRAMS = 32
ESTIMATED_GPU = "h200"  # the one whose measured times the model was fitted on


class Simulator:
    """`simt` in this process; translated programs are kept by digest.

    Args:
        threads: CPU threads that blocks are spread over; None for what this process may use.
    """

    name = "simulator"
    arch = "sm_80"
    capabilities = frozenset({"counters", "checks", "writers", "estimates", *ARCHES})

    spent = False

    def __init__(self, threads: int | None = None):
        self.threads = threads
        self._programs: OrderedDict[tuple[str, str], Program] = OrderedDict()

    def run(
        self,
        compiled: Compiled,
        config: LaunchConfig,
        arguments: Sequence[Argument],
        budget: Budget = CASE_BUDGET,
        *,
        want_writers: bool = False,
    ) -> RunResult:
        """One launch with every check on."""
        from simt.program import BuildFailed

        try:
            program = self._program(compiled)
        except BuildFailed as failed:
            total = config.grid.volume
            return LaunchResult(Status.BUILD_FAILED, {}, Counters(), {}, failed.diagnostics, 0, total, 0)
        return program.launch(config, arguments, budget=budget, threads=self.threads, want_writers=want_writers)

    def _program(self, compiled: Compiled) -> Program:
        from simt.program import Program

        key = (compiled.digest, compiled.kernel)
        if key in self._programs:
            self._programs.move_to_end(key)
            return self._programs[key]
        program = Program.from_ptx(compiled.ptx, kernel=compiled.kernel, arch=compiled.arch, source=compiled.source)
        self._programs[key] = program
        while len(self._programs) > KEPT_PROGRAMS:
            self._programs.popitem(last=False)
        return program

    def time(self, pair: TimingPair, plan: TimingPlan) -> Trace | Timing | None:
        """An estimate for `ESTIMATED_GPU`; None where a kernel cannot be estimated."""
        baseline = pair.baseline_ns or self._nanoseconds(pair.baseline, pair.arguments)
        student = self._nanoseconds(pair.student, pair.arguments)
        if not baseline or not student:
            return None
        ratio = baseline / student
        return Timing(ratio, ratio, ratio, baseline, student, Basis.ESTIMATED, gpu(ESTIMATED_GPU).name)

    def _nanoseconds(self, arm: TimedKernel, arguments: Sequence[Argument]) -> float | None:
        """Of one launch, from a sample of its blocks, which work in copies of the arguments."""
        from simt.codegen.prepare import Unsupported
        from simt.program import BuildFailed

        own = [replace(a, value=a.value.copy()) if isinstance(a.value, np.ndarray) else a for a in arguments]
        try:
            program = replace(self._program(arm.compiled), resources=_resources(arm.compiled.resources))
            _, estimates = program.estimates(arm.config, own, [gpu(ESTIMATED_GPU)], quick=True)
        except (BuildFailed, Unsupported):
            return None
        return 1e9 * estimates[0].estimate.seconds if estimates and estimates[0].estimate else None

    def close(self) -> None:
        """Lets go of the translated programs."""
        self._programs.clear()


def _resources(known: Resources) -> KernelResources | None:
    """What the assembler gave, in simt's words; None where nothing was assembled."""
    from simt.nvrtc_log import KernelResources

    if known.registers is None:
        return None
    return KernelResources(
        known.registers, stack_bytes=known.local_bytes, static_shared_bytes=known.static_shared_bytes
    )
