"""What an exercise is held to, as data that a store freezes: limits, margins of tolerance and points at release.

A later version of the course may ask for more; who was released an exercise is still judged by what it said then.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, replace

from grader.model import Exercise, Goal, Tolerance

__all__ = ["thresholds_of", "with_thresholds"]


def thresholds_of(exercise: Exercise) -> tuple[str, dict[str, object]]:
    """(digest, data) of what the exercise asks for today."""
    data: dict[str, object] = {
        "points": exercise.points,
        "goals": [asdict(goal) for goal in exercise.goals],
        "tolerance": {name: asdict(row) for name, row in exercise.tolerance.items()},
    }
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest(), data


def with_thresholds(exercise: Exercise, data: Mapping) -> Exercise:
    """The exercise held to `data`, as `thresholds_of` gave it."""
    return replace(
        exercise,
        points=float(data["points"]),
        goals=tuple(Goal(**goal) for goal in data["goals"]),
        tolerance={name: Tolerance(**row) for name, row in data["tolerance"].items()},
    )
