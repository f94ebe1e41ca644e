"""What a round draws before it starts: the order of each pair, its contents, which launches are verified.

Worker and parent draw the same from the plan's seed, so that the parent can make the contents of a checked launch again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from grader.model import TimingPlan

__all__ = ["BASELINE", "STUDENT", "Step", "schedule"]

BASELINE, STUDENT = 0, 1  # columns of a pair
FLOOR_EVERY = 8  # samples from one empty launch to the next


@dataclass(frozen=True, slots=True)
class Step:
    """One sample.

    Attributes:
        order: the two arms in the order in which they are launched.
        nonce: the contents of both launches follow from it.
        floor: an empty kernel is timed as well.
        verified: the student's outputs are kept.
    """

    order: tuple[int, int]
    nonce: int
    floor: bool
    verified: bool


def schedule(plan: TimingPlan) -> tuple[Step, ...]:
    """The samples of a round, the same for the same plan."""
    rng = np.random.default_rng(plan.seed)
    nonces = rng.integers(0, 2**63, plan.pairs, dtype=np.int64)
    swapped = rng.integers(0, 2, plan.pairs)
    verified = set(rng.choice(plan.pairs, math.ceil(plan.verified * plan.pairs), replace=False))
    verified |= {plan.pairs - 1} if plan.verified else set()
    return tuple(
        Step(
            (STUDENT, BASELINE) if swapped[index] else (BASELINE, STUDENT),
            int(nonces[index]),
            index % FLOOR_EVERY == 0,
            index in verified,
        )
        for index in range(plan.pairs)
    )
