"""The device that every machine has: `simt`, which also counts and checks."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from grader.devices.base import CASE_BUDGET
from grader.model_runs import Compiled, RunResult, TimingPair
from grader.model_timing import TimingPlan
from simt.counters import Counters
from simt.events import Argument, Budget, LaunchResult, Status
from simt.launch import LaunchConfig

if TYPE_CHECKING:
    from grader.timing.trace import Trace
    from simt.program import Program

__all__ = ["Simulator"]

ARCHES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
KEPT_PROGRAMS = 32


class Simulator:
    """`simt` in this process; translated programs are kept by digest.

    Args:
        threads: CPU threads that blocks are spread over; None for what this process may use.
    """

    name = "simulator"
    arch = "sm_80"
    capabilities = frozenset({"counters", "checks", "writers", *ARCHES})

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

    def time(self, pair: TimingPair, plan: TimingPlan) -> Trace | None:
        """None: counters do not make a time by themselves."""
        return None

    def close(self) -> None:
        """Lets go of the translated programs."""
        self._programs.clear()
