"""What a store holds, as values. Times are UTC; a digest is the sha256 of bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

__all__ = ["Grading", "Mark", "Result", "StoreMissing", "StoreProblem", "StoredHandIn"]


class StoreProblem(RuntimeError):
    """A store that cannot be opened or used: why, and what to do.

    `in_use` tells one that failed after it was opened: a full disk, a server that went away.
    """

    def __init__(self, message: str, help: str, *, in_use: bool = False):
        super().__init__(message)
        self.help, self.in_use = help, in_use


class StoreMissing(StoreProblem):
    """No class is kept there."""


@dataclass(frozen=True, slots=True)
class StoredHandIn:
    """One notebook that a student handed in; its bytes are the store's `blob(digest)`.

    Attributes:
        received: the earliest time that this content was seen with: lateness goes by it, and a copy costs nobody a day.
        latest: the newest one, by which one of several hand-ins counts.
    """

    id: int
    student: str
    file: str
    digest: str
    received: datetime
    latest: datetime
    is_late: bool
    place: str
    problem: str


@dataclass(frozen=True, slots=True)
class Grading:
    """One verdict that was reached.

    Attributes:
        key: equal for equal answers judged by the same exercise, thresholds, seeds, versions and device.
        answer: digest of the answer; "" for one that could not be read.
        report: `grader.report.json_form` of the report.
        seeds: id of the hidden seeds, "" for none.
        thresholds: digest of the frozen thresholds it was judged by.
        is_final: False for our own failure, which the next run tries again.
    """

    key: str
    exercise_id: str
    answer: str
    report: Mapping[str, Any]
    seeds: str = ""
    thresholds: str = ""
    device: str = ""
    is_final: bool = True


@dataclass(frozen=True, slots=True)
class Result:
    """Which verdict one exercise of one hand-in got; `problem` says why it has none.

    `is_missing` means that nothing answered the exercise there, or nobody judged it yet, so that an earlier hand-in still
    counts.
    """

    hand_in: int
    exercise_id: str
    key: str
    problem: str = ""
    is_missing: bool = False


@dataclass(frozen=True, slots=True)
class Mark:
    """What a person gave: a score in place of the grader's (None leaves that), and a comment. The newest counts."""

    student: str
    exercise_id: str
    score: float | None
    comment: str
    author: str
    when: datetime
