"""How many rounds it takes: up to three while a threshold is open, and a second process before anybody fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from grader.timing.decision import Decision, all_decided, decide, disturbance, too_few
from grader.timing.statistics import Statistics, statistics_of
from grader.timing.trace import Trace

__all__ = ["MOST_ROUNDS", "Outcome", "judge_rounds"]

MOST_ROUNDS = 3

Sampler = Callable[[bool], Trace]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the rounds came to.

    Attributes:
        traces: every round that was run, a repetition's included.
        statistics: of the rounds that decide.
        problem: why nothing is decided, or "".
        borderline: a threshold was still open after the last round.
        repeated: a fail was tried again in a fresh process.
    """

    traces: tuple[Trace, ...]
    statistics: Statistics
    problem: str
    borderline: bool
    repeated: bool


def judge_rounds(sample: Sampler, thresholds: Sequence[float], calibrated_ns: float | None = None) -> Outcome:
    """Rounds of `sample` until every threshold is decided.

    A fail stands only where a fresh process says the same: of both, the one that is better for the student decides.

    Args:
        sample: gives the next round, from a fresh process when asked with True.
        thresholds: the speed-ups that goals ask for.
        calibrated_ns: see `disturbance`.
    """
    first = _series(sample, thresholds, calibrated_ns, False)
    if first.problem or not _fails(first.statistics, thresholds):
        return first
    second = _series(sample, thresholds, calibrated_ns, True)
    decides = second if second.problem else max(first, second, key=lambda outcome: outcome.statistics.high)
    traces = (*first.traces, *second.traces)
    return Outcome(traces, decides.statistics, decides.problem, decides.borderline, True)


def _fails(statistics: Statistics, thresholds: Sequence[float]) -> bool:
    return any(decide(statistics.low, statistics.high, t) is Decision.FAIL for t in thresholds)


def _series(sample: Sampler, thresholds: Sequence[float], calibrated_ns: float | None, fresh: bool) -> Outcome:
    traces: list[Trace] = []
    while True:
        trace = sample(fresh and not traces)
        traces.append(trace)
        if not trace.baseline_ns.size:
            return Outcome(tuple(traces), NOTHING, "the kernel did not come to its end", False, False)
        statistics = statistics_of(traces)
        problem = disturbance(traces, statistics, calibrated_ns, thresholds)
        decided = all_decided(statistics, thresholds)
        if problem or trace.findings or decided or len(traces) == MOST_ROUNDS:
            problem = problem or ("" if decided else too_few(statistics))
            return Outcome(tuple(traces), statistics, problem, not problem and not decided, False)


NOTHING = Statistics(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0, 0)
