"""The statistic of paired timings: the median of log-ratios with an interval from its order statistics."""

from __future__ import annotations

import math

import numpy as np

from grader.model import Basis, Timing

__all__ = ["interval_ranks", "summarise"]

CONFIDENCE = 0.998


def interval_ranks(n: int, confidence: float = CONFIDENCE) -> tuple[int, int]:
    """1-based ranks of n sorted values between which the median lies with at least `confidence`: 10 and 31 of 40."""
    below = 0.0
    for rank in range(n // 2):
        below += math.comb(n, rank) / 2.0**n
        if 2 * below > 1 - confidence:
            return max(rank, 1), n + 1 - max(rank, 1)
    return max(n // 2, 1), n + 1 - max(n // 2, 1)


def summarise(samples: np.ndarray, device: str) -> Timing:
    """The speed-up that (n, 2) times in ns, baseline and student, show."""
    ratios = np.sort(np.log(samples[:, 0] / samples[:, 1]))
    low, high = interval_ranks(len(ratios))
    return Timing(
        ratio=float(np.exp(np.median(ratios))),
        low=float(np.exp(ratios[low - 1])),
        high=float(np.exp(ratios[high - 1])),
        baseline_ns=float(np.median(samples[:, 0])),
        student_ns=float(np.median(samples[:, 1])),
        basis=Basis.MEASURED,
        device=device,
        pairs_used=len(samples),
    )
