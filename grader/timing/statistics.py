"""The statistic of paired timings: the median of log-ratios with an interval from its order statistics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from grader.timing.decision import FAR_APART, LEAST_PAIRS
from grader.timing.trace import Trace

__all__ = ["CLOCK_APART", "CONFIDENCE", "Statistics", "interval_ranks", "kept_pairs", "statistics_of"]

CONFIDENCE = 0.998
CLOCK_APART = 0.03  # a pair whose two halves ran at clocks further apart says nothing


@dataclass(frozen=True, slots=True)
class Statistics:
    """What the pairs of one or more rounds say.

    Attributes:
        ratio: exp of the median of ln(baseline / student); low and high its 99.8 % interval. Of fewer pairs than have
            one, `FAR_APART` to both sides.
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
    total = sum(keep.size for keep in keeps)
    if total < LEAST_PAIRS:
        keeps = [np.ones_like(keep) for keep in keeps]
    used = sum(int(keep.sum()) for keep in keeps)
    if not used:  # the caller calls this not measurable; the numbers still say what was seen
        keeps = [np.ones_like(keep) for keep in keeps]
    ratio, low, high = _of_few(traces) if total < LEAST_PAIRS else _of_many(_joined(traces, keeps, "log_ratios"))
    floors = np.concatenate([trace.floor_ns for trace in traces])
    clocks = np.concatenate([_joined(traces, keeps, "baseline_mhz"), _joined(traces, keeps, "student_mhz")])
    return Statistics(
        ratio=ratio,
        low=low,
        high=high,
        baseline_ns=float(np.median(_joined(traces, keeps, "baseline_ns"))),
        student_ns=float(np.median(_joined(traces, keeps, "student_ns"))),
        floor_ns=float(np.median(floors)) if floors.size else 0.0,
        clock_mhz=float(np.median(clocks)),
        used=used,
        dropped=total - used,
        copies=max(trace.copies for trace in traces),
    )


def _of_many(log_ratios: np.ndarray) -> tuple[float, float, float]:
    """(ratio, low, high) by the order of the pairs."""
    ordered = np.sort(log_ratios)
    ratio = float(np.exp(np.median(ordered)))
    if len(ordered) < LEAST_PAIRS:
        return ratio, ratio / FAR_APART, ratio * FAR_APART
    low, high = interval_ranks(len(ordered))
    return ratio, float(np.exp(ordered[low - 1])), float(np.exp(ordered[high - 1]))


def _of_few(traces: Sequence[Trace]) -> tuple[float, float, float]:
    """(ratio, low, high) of whole rounds that had time for so few pairs: by all of the time that each arm took.

    A kernel that is slow only now and then would not get around it, as it would around a median.
    """
    baseline, student = (sum(float(getattr(t, name).sum()) for t in traces) for name in ("baseline_ns", "student_ns"))
    ratio = baseline / student
    return ratio, ratio / FAR_APART, ratio * FAR_APART


def _joined(traces: Sequence[Trace], keeps: Sequence[np.ndarray], name: str) -> np.ndarray:
    return np.concatenate([getattr(trace, name)[keep] for trace, keep in zip(traces, keeps, strict=True)])
