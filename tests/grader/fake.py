"""A device of the tests: runs a NumPy function in a kernel's place, and reports what it is told to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from grader.devices.base import CASE_BUDGET
from grader.model import Compiled, RunResult, Timing
from grader.timing.trace import Trace
from simt.counters import Counters
from simt.diagnostics import Diagnostic
from simt.events import Argument, Direction, LaunchResult, Status
from simt.launch import LaunchConfig

ARCHES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90")


@dataclass
class FakeDevice:
    """`compute(**arguments)` returns {output: array}; a missing output keeps its poison."""

    compute: Callable[..., dict[str, np.ndarray]]
    findings: tuple[Diagnostic, ...] = ()
    status: Status = Status.OK
    counters: Counters = Counters(instructions=1)
    timing: Trace | Timing | None = None
    printed: str = ""
    name: str = "fake"
    arch: str = "sm_80"
    capabilities: frozenset[str] = frozenset({"counters", "checks", *ARCHES})
    spent: bool = False
    launches: list[tuple[Compiled, LaunchConfig]] = field(default_factory=list)

    def run(
        self, compiled, config, arguments: Sequence[Argument], budget=CASE_BUDGET, *, want_writers=False
    ) -> RunResult:
        self.launches.append((compiled, config))
        values = {a.name: a.value.copy() if isinstance(a.value, np.ndarray) else a.value for a in arguments}
        for argument in arguments:
            if argument.direction is Direction.OUT and values[argument.name].dtype.kind == "f":
                values[argument.name][...] = np.nan
        before = {a.name: a.value for a in arguments if a.direction is Direction.IN}
        values |= {name: np.asarray(value, values[name].dtype) for name, value in self.compute(**values).items()}
        changed = tuple(name for name, value in before.items() if not np.array_equal(value, values[name]))
        kept = {a.name: values[a.name] for a in arguments if a.direction in (Direction.OUT, Direction.INOUT)}
        kept |= {name: values[name] for name in changed}
        return LaunchResult(
            self.status,
            kept,
            self.counters,
            {},
            self.findings,
            config.grid.volume,
            config.grid.volume,
            1,
            changed,
            printed=self.printed,
        )

    def time(self, pair, plan) -> Trace | Timing | None:
        return self.timing

    def close(self) -> None:
        self.launches.clear()
