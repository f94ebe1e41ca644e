"""Words of a run: what was compiled, what is launched and timed, what a device returns.

`grader.model` gives them to everybody else; a worker, which is told nothing of exercises, takes them from here.
"""

from __future__ import annotations

from dataclasses import dataclass

from simt.diagnostics import Diagnostic
from simt.events import Argument, LaunchResult
from simt.launch import LaunchConfig

__all__ = ["Compiled", "Resources", "RunResult", "TimedKernel", "TimingPair"]


@dataclass(frozen=True, slots=True)
class Resources:
    registers: int | None
    spill_bytes: int
    static_shared_bytes: int
    local_bytes: int


@dataclass(frozen=True, slots=True)
class Compiled:
    ptx: str
    cubin: bytes
    kernel: str
    arch: str
    resources: Resources
    log: str
    digest: str
    source: str
    diagnostics: tuple[Diagnostic, ...] = ()


RunResult = LaunchResult  # what every device returns


@dataclass(frozen=True, slots=True)
class TimedKernel:
    """One arm of a timing: a kernel and its launch."""

    compiled: Compiled
    config: LaunchConfig


@dataclass(frozen=True, slots=True)
class TimingPair:
    """Baseline and student's kernel over the same arguments.

    `fresh` names the inputs whose contents every launch draws anew; `tools` is what `grader.timing.tools` compiled for
    the device. `baseline_ns` is the baseline's time where an earlier estimate gave it; who measures has no use for it.
    """

    baseline: TimedKernel
    student: TimedKernel
    arguments: tuple[Argument, ...]
    fresh: tuple[str, ...] = ()
    tools: Compiled | None = None
    baseline_ns: float | None = None
