"""A device that runs kernels on hardware only after the simulator found nothing wrong with them.

The simulator's counters and findings stand beside the hardware's outputs and times; a kernel that would corrupt the
GPU's memory or hang it never reaches it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from grader.devices.base import CASE_BUDGET, Device
from grader.model import Compiled, RunResult, Timing, TimingPair, TimingPlan
from simt.events import Argument, Budget, Status
from simt.launch import LaunchConfig

if TYPE_CHECKING:
    from grader.timing.trace import Trace

__all__ = ["Checked"]


class Checked:
    """`hardware` behind `simulator`.

    Args:
        hardware: runs and times.
        simulator: counts and checks first.
    """

    def __init__(self, hardware: Device, simulator: Device):
        self._hardware, self._simulator = hardware, simulator
        self.name, self.arch = hardware.name, hardware.arch
        self.capabilities = hardware.capabilities | (simulator.capabilities & {"counters", "checks", "writers"})
        self.spent = False

    def run(
        self,
        compiled: Compiled,
        config: LaunchConfig,
        arguments: Sequence[Argument],
        budget: Budget = CASE_BUDGET,
        *,
        want_writers: bool = False,
    ) -> RunResult:
        """The simulator's result where it has an error; else the hardware's outputs with the simulator's counters.

        What the simulator does not run goes to the hardware alone, and the result says that nothing was checked.
        """
        checked = self._simulator.run(compiled, config, arguments, budget, want_writers=want_writers)
        if checked.status is Status.NOT_SUPPORTED:
            return self._hardware.run(compiled, config, arguments, budget)
        if checked.status is not Status.OK or want_writers:
            return checked
        ran = self._hardware.run(compiled, config, arguments, budget)
        return replace(
            ran,
            counters=checked.counters,
            by_line=checked.by_line,
            diagnostics=(*checked.diagnostics, *ran.diagnostics),
            accesses_checked=checked.accesses_checked,
            modified_inputs=tuple(dict.fromkeys((*checked.modified_inputs, *ran.modified_inputs))),
            printed=checked.printed,
            checks=checked.checks,
            seconds={
                name: sum(part.seconds.get(name, 0.0) for part in (checked, ran)) for name in ("translate", "run")
            },
        )

    def time(self, pair: TimingPair, plan: TimingPlan) -> Trace | Timing | None:
        """The hardware's round."""
        return self._hardware.time(pair, plan)

    def close(self) -> None:
        """Closes both."""
        self._hardware.close()
        self._simulator.close()
