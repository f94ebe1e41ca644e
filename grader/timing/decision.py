"""What statistics decide: a threshold is passed, failed or open; or nothing can be measured now.

Disturbance never fails anybody: it makes a timing "not measurable now", to be asked for again.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grader.timing.statistics import Statistics
    from grader.timing.trace import Trace

__all__ = [
    "FAR_APART", "LEAST_PAIRS", "MARGIN", "Decision", "decide", "disturbance", "faster_than_physics", "is_far_below",
    "too_few",
]  # fmt: skip

MARGIN = 0.95  # a goal of T is held to P = 0.95 T: the protocol holds to half a percent, a tenth of this margin
FLOORS = 10  # a sample shorter than so many empty launches is mostly launch
MOST_DROPPED = 0.30
BASELINE_APART = 0.15
BANDWIDTH_SLACK = 1.05  # over the peak of a datasheet
LEAST_PAIRS = 10  # the fewest whose median has an interval of 99.8 %: twice 2^-10 is less than 0.2 %
FAR_APART = 10.0  # what lies so far below a goal does so whatever the clock did


class Decision(enum.StrEnum):
    PASS = "pass"
    FAIL = "fail"
    OPEN = "open"


def decide(low: float, high: float, threshold: float) -> Decision:
    """Where the interval lies to P: above passes, below fails, across leaves it open."""
    if low >= MARGIN * threshold:
        return Decision.PASS
    return Decision.FAIL if high < MARGIN * threshold else Decision.OPEN


def is_too_short(statistics: Statistics) -> bool:
    """True when a sample of either kernel takes less than ten empty launches."""
    shortest = min(statistics.baseline_ns, statistics.student_ns) * statistics.copies
    return 0 < shortest < FLOORS * statistics.floor_ns


def is_far_below(statistics: Statistics, thresholds: Sequence[float]) -> bool:
    """True when every threshold is missed by a factor of `FAR_APART`."""
    high = statistics.high * (FAR_APART if statistics.used >= LEAST_PAIRS else 1.0)
    return bool(thresholds) and all(decide(0.0, high, threshold) is Decision.FAIL for threshold in thresholds)


def disturbance(
    traces: Sequence[Trace],
    statistics: Statistics,
    calibrated_ns: float | None = None,
    thresholds: Sequence[float] = (),
) -> str:
    """Why this timing decides nothing, or "".

    Where a kernel is so slow that few pairs fit into a round, or that a short baseline cannot be timed by copies, what is
    far below every threshold is decided all the same: it would otherwise lose nothing by being slow.

    Args:
        traces: the rounds.
        statistics: of these rounds.
        calibrated_ns: the baseline's time as `calibrate` stored it for this GPU.
        thresholds: the speed-ups that goals ask for.
    """
    foreign = max(max(trace.before.foreign, trace.after.foreign) for trace in traces)
    if foreign:
        return f"{_counted(foreign, 'other process', 'other processes')} used the GPU meanwhile"
    total = statistics.used + statistics.dropped
    if statistics.dropped > MOST_DROPPED * total:
        return f"the SM clock changed within {statistics.dropped} of {total} pairs"
    if (total < LEAST_PAIRS or is_too_short(statistics)) and is_far_below(statistics, thresholds):
        return ""
    if calibrated_ns and abs(statistics.baseline_ns / calibrated_ns - 1) > BASELINE_APART:
        return (
            f"the baseline took {statistics.baseline_ns / 1e3:.4g} µs, and {calibrated_ns / 1e3:.4g} µs when this GPU "
            "was calibrated"
        )
    if is_too_short(statistics):
        shortest = min(statistics.baseline_ns, statistics.student_ns)
        return (
            f"a launch of {shortest / 1e3:.3g} µs is too short beside the {statistics.floor_ns / 1e3:.3g} µs of an "
            "empty one; the exercise needs larger sizes on this GPU"
        )
    return ""


def too_few(statistics: Statistics) -> str:
    """Why pairs that leave a threshold open decide nothing, or "": they have no interval."""
    if statistics.used >= LEAST_PAIRS:
        return ""
    pairs = _counted(statistics.used, "pair", "pairs")
    return f"there was time for {pairs}, and an interval needs {LEAST_PAIRS}"


def _counted(n: int, one: str, many: str) -> str:
    return f"{n} {one if n == 1 else many}"


def faster_than_physics(student_ns: float, needed_bytes: int, peak: float | None) -> str:
    """Why the time cannot be right, or "".

    Args:
        student_ns: median of one launch.
        needed_bytes: that any right kernel moves between memory and the chip.
        peak: bytes a second of the memory by its datasheet; None where it is not known.
    """
    if not peak or not needed_bytes:
        return ""
    least = needed_bytes / (BANDWIDTH_SLACK * peak) * 1e9
    if student_ns >= least:
        return ""
    return (
        f"{needed_bytes} bytes must move, which takes this memory {least / 1e3:.4g} µs at least; "
        f"{student_ns / 1e3:.4g} µs were measured"
    )


def all_decided(statistics: Statistics, thresholds: Iterable[float]) -> bool:
    """True when no threshold is open."""
    return all(decide(statistics.low, statistics.high, t) is not Decision.OPEN for t in thresholds)
