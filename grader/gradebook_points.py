"""What one report is worth to a class: speed goals that no GPU measured, under the class's policy.

| the goal on the report | `estimate` | `pending` | `waive` |
|---|---|---|---|
| measured | counts | counts | counts |
| estimated clear of the limit | counts | open | left out |
| neither | left out | open | left out |
| off: this GPU cannot hold the limit | left out | left out | left out |

What is left out stands in neither number, so that the share reached of the rest becomes the share of the full mark. What
is open stands in the maximum alone, until a GPU measures it.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass

from grader.class_file import Unmeasured
from grader.model import Basis, GoalState, Verdict

__all__ = ["Held", "Speed", "held_to"]

_SPEED = "speedup"  # the metric, as `grader.score.METRICS` calls it


class Speed(enum.StrEnum):
    """What the points of a report's speed goals rest on; "" where there are none, or the kernel is not right."""

    NONE = ""
    MEASURED = "measured"
    ESTIMATED = "estimated"
    PENDING = "pending"
    WAIVED = "waived"
    LEFT_OUT = "left out"


@dataclass(frozen=True, slots=True)
class Held:
    """Points of the exercise under a policy, before weight and lateness; `is_passed` when nothing that counts is missed."""

    score: float
    max_score: float
    is_passed: bool
    speed: Speed = Speed.NONE

    @property
    def share(self) -> float:
        """The part of the full mark that was reached, 0..1."""
        return self.score / self.max_score if self.max_score > 0 else 0.0


def held_to(report: Mapping, policy: Unmeasured) -> Held:
    """What a report, as JSON, is worth under `policy`."""
    score, most = _number(report["score"]), _number(report["max_score"])
    if report["verdict"] != Verdict.PASS:
        return Held(score, most, False)
    goals = report["goals"]
    uncounted = [goal for goal in goals if _is_uncounted(goal, policy)]
    off = (report["timing"] or {}).get("off", ())
    is_open = policy is Unmeasured.PENDING and any(goal["limit"] not in off for goal in uncounted)
    for goal in uncounted:
        points = _number(goal["points"])
        score -= points if goal["state"] == GoalState.MET else 0.0
        most -= points if goal["state"] != GoalState.NOT_MEASURED else 0.0
        most += points if policy is Unmeasured.PENDING and goal["limit"] not in off else 0.0
    missed = any(goal["state"] == GoalState.MISSED for goal in goals if goal not in uncounted)
    return Held(round(score, 9), round(most, 9), not missed, _speed(goals, uncounted, is_open, policy))


def _is_uncounted(goal: Mapping, policy: Unmeasured) -> bool:
    if goal["metric"] != _SPEED:
        return False
    by_estimate = goal["basis"] == Basis.ESTIMATED and policy is not Unmeasured.ESTIMATE
    return by_estimate or goal["state"] == GoalState.NOT_MEASURED


def _speed(goals: list, uncounted: list, is_open: bool, policy: Unmeasured) -> Speed:
    speed = [goal for goal in goals if goal["metric"] == _SPEED]
    if not speed:
        return Speed.NONE
    if is_open:
        return Speed.PENDING
    if uncounted:
        return Speed.WAIVED if policy is Unmeasured.WAIVE else Speed.LEFT_OUT
    return Speed.ESTIMATED if speed[0]["basis"] == Basis.ESTIMATED else Speed.MEASURED


def _number(value: object) -> float:
    """A report's number; one that is not finite earns nothing."""
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else 0.0
