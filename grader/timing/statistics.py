"""The statistic of paired timings: the median of log-ratios with an interval from its order statistics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from grader.timing.trace import Trace

__all__ = ["CLOCK_APART", "CONFIDENCE", "Statistics", "interval_ranks", "kept_pairs", "statistics_of"]

CONFIDENCE = 0.998
CLOCK_APART = 0.03  # a pair whose two halves ran at clocks further apart says nothing


@dataclass(frozen=True, slots=True)
class Statistics:
    """What the pairs of one or more rounds say.

    Attributes:
        ratio: exp of the median of ln(baseline / student); low and high its 99.8 % interval.
        baseline_ns, student_ns: medians of one launch.
        floor_ns: median of the empty launches, 0 where there are none.
        clock_mhz: median SM clock.
        used, dropped: pairs.
        copies: launches a sample.
    """

    ratio: float
    low: float
    high: float
    baseline_ns: float
    student_ns: float
    floor_ns: float
    clock_mhz: float
    used: int
    dropped: int
    copies: int = 1


@cache
def interval_ranks(n: int, confidence: float = CONFIDENCE) -> tuple[int, int]:
    """1-based ranks of n sorted values between which the median lies with at least `confidence`: 10 and 31 of 40."""
    below = 0.0
    for rank in range(n // 2):
        below += math.comb(n, rank) / 2.0**n
        if 2 * below > 1 - confidence:
            return max(rank, 1), n + 1 - max(rank, 1)
    return max(n // 2, 1), n + 1 - max(n // 2, 1)


def kept_pairs(trace: Trace) -> np.ndarray:
    """(n,) bool: the SM clock of both halves was the same within `CLOCK_APART`.

    Times never drop a pair: what is slow is kept, or a slow kernel would lose its slowest launches.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.abs(np.log(trace.student_mhz / trace.baseline_mhz))
    return ~(apart > math.log1p(CLOCK_APART))


def statistics_of(traces: Sequence[Trace]) -> Statistics:
    """The rounds together.

    Args:
        traces: at least one, with at least one pair.
    """
    keeps = [kept_pairs(trace) for trace in traces]
    used = sum(int(keep.sum()) for keep in keeps)
    dropped = sum(keep.size for keep in keeps) - used
    if not used:  # the caller calls this not measurable; the numbers still say what was seen
        keeps = [np.ones_like(keep) for keep in keeps]
    ratios = np.sort(_joined(traces, keeps, "log_ratios"))
    low, high = interval_ranks(len(ratios))
    floors = np.concatenate([trace.floor_ns for trace in traces])
    clocks = np.concatenate([_joined(traces, keeps, "baseline_mhz"), _joined(traces, keeps, "student_mhz")])
    return Statistics(
        ratio=float(np.exp(np.median(ratios))),
        low=float(np.exp(ratios[low - 1])),
        high=float(np.exp(ratios[high - 1])),
        baseline_ns=float(np.median(_joined(traces, keeps, "baseline_ns"))),
        student_ns=float(np.median(_joined(traces, keeps, "student_ns"))),
        floor_ns=float(np.median(floors)) if floors.size else 0.0,
        clock_mhz=float(np.median(clocks)),
        used=used,
        dropped=dropped,
        copies=max(trace.copies for trace in traces),
    )


def _joined(traces: Sequence[Trace], keeps: Sequence[np.ndarray], name: str) -> np.ndarray:
    return np.concatenate([getattr(trace, name)[keep] for trace, keep in zip(traces, keeps, strict=True)])
