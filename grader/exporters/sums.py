"""What a learning platform has one number for: the exercises of an assignment together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grader.gradebook import Row

__all__ = ["Sum", "column_sum"]


@dataclass(frozen=True, slots=True)
class Sum:
    """Points of one student in one column, and what to say about them."""

    score: float
    max_score: float
    words: str


def column_sum(row: Row, exercises: Sequence[str]) -> Sum:
    """The entries of these exercises, added up."""
    entries = [entry for entry in row.entries if entry.exercise_id in exercises]
    words = [
        f"{entry.exercise_id}: {entry.verdict}, {entry.score:g} of {entry.max_score:g}"
        + (f" (speed {entry.speed})" if entry.speed else "")
        + (f" (late: {entry.kept_share:.0%} kept)" if entry.kept_share < 1 else "")
        + (f". {entry.comment}" if entry.comment else "")
        for entry in entries
    ]
    return Sum(
        round(sum(entry.score for entry in entries), 6),
        round(sum(entry.max_score for entry in entries), 6),
        "; ".join(words),
    )
