"""Words of timing: the plan of a round, and what came of all rounds. `grader.model` gives them to everybody else."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Basis", "Timing", "TimingPlan"]


class Basis(enum.StrEnum):
    MEASURED = "measured"
    ESTIMATED = "estimated"
    COUNTED = "counted"


@dataclass(frozen=True, slots=True)
class TimingPlan:
    """One round: `pairs` samples in an order drawn from `seed`.

    Before it, unmeasured, at least `warm_up` more and `warm_up_ms` of work. Of `verified` of the launches, and of the
    last one, the outputs are kept; of none where that is 0. `fresh_process` asks for a new process.
    """

    pairs: int = 40
    seed: int = 0
    warm_up: int = 5
    warm_up_ms: float = 200.0
    verified: float = 0.1
    fresh_process: bool = False


@dataclass(frozen=True, slots=True)
class Timing:
    """A speed-up against the baseline, and what it rests on.

    Attributes:
        ratio: baseline's time over the student's, between low and high with 99.8 %.
        baseline_ns, student_ns: medians of one launch.
        device: product that was timed, or that an estimate is for.
        pairs_used, pairs_dropped: samples that count, and those in which the clock changed.
        sizes: of the timed case.
        rounds, copies: rounds of pairs; launches in one sample, more than 1 only for short kernels.
        floor_ns, clock_mhz: medians of an empty launch and of the SM clock.
        memory_mhz: the memory's clock at the end of the last round; 0 where the driver does not tell.
        throttle: why the clock was held back around a round, by name.
        rate, rate_unit: what the student's kernel moves or computes a second, in GB/s or GFLOP/s.
        share: of what this device was measured to reach at best; None where it was not calibrated.
        off: thresholds that do not hold on this GPU, as its calibration says; they decide nothing here.
        borderline: a threshold lay within the interval to the last; it counts as reached.
        problem: why it decides nothing now, or "".
        suspect: why it cannot be right, or "": it earns nothing until somebody looked at it.
    """

    ratio: float
    low: float
    high: float
    baseline_ns: float
    student_ns: float
    basis: Basis
    device: str
    pairs_used: int = 0
    pairs_dropped: int = 0
    sizes: Mapping[str, int] = field(default_factory=dict)
    rounds: int = 1
    copies: int = 1
    floor_ns: float = 0.0
    clock_mhz: float = 0.0
    memory_mhz: float = 0.0
    throttle: tuple[str, ...] = ()
    rate: float = 0.0
    rate_unit: str = ""
    share: float | None = None
    off: tuple[float, ...] = ()
    borderline: bool = False
    problem: str = ""
    suspect: str = ""
