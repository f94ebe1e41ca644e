"""What the grader asks of anything that runs kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from grader.model_runs import Compiled, RunResult, TimingPair
from grader.model_timing import Timing, TimingPlan
from simt.events import Argument, Budget
from simt.launch import LaunchConfig

if TYPE_CHECKING:
    from grader.timing.trace import Trace

__all__ = ["CASE_BUDGET", "Device", "DeviceLost", "DeviceMissing"]

# A case of the course takes well under a tenth of this; what needs more loops without end or does far too much work.
CASE_BUDGET = Budget(warp_instructions=200_000_000, seconds=8.0, printf_bytes=64 * 1024, memory_bytes=1 << 30)


class DeviceMissing(RuntimeError):
    """This machine has no such device; the message says what is missing."""


class DeviceLost(RuntimeError):
    """The device or its process ended in the middle of a job.

    Attributes:
        timed_out: True when it was ended because a job took longer than the wall limit.
        at_start: True when it ended before it took a job, so that no kernel can be the reason.
    """

    def __init__(self, message: str, timed_out: bool = False, at_start: bool = False):
        super().__init__(message)
        self.timed_out, self.at_start = timed_out, at_start


@runtime_checkable
class Device(Protocol):
    """Runs compiled kernels. Arguments are copied in and nothing is mutated.

    Attributes:
        name: as it is chosen and reported: `simulator`, `cuda`.
        arch: architecture that kernels are compiled for unless an exercise requires a newer one.
        capabilities: what exercises and goals may require: `counters`, `checks`, `timing`, `estimates`, `sm_90`…
        spent: True once an error has left the device unable to run anything more in this process.
    """

    @property
    def name(self) -> str: ...

    @property
    def arch(self) -> str: ...

    @property
    def capabilities(self) -> frozenset[str]: ...

    @property
    def spent(self) -> bool: ...

    def run(
        self,
        compiled: Compiled,
        config: LaunchConfig,
        arguments: Sequence[Argument],
        budget: Budget = CASE_BUDGET,
        *,
        want_writers: bool = False,
    ) -> RunResult:
        """One launch. A kernel's misbehaviour is in the result; `DeviceLost` is the device's own end."""
        ...

    def time(self, pair: TimingPair, plan: TimingPlan) -> Trace | Timing | None:
        """One round as it was read; a timing where the device works it out instead of measuring; None where it can do neither."""
        ...

    def close(self) -> None:
        """Ends what the device holds, such as a process."""
        ...
