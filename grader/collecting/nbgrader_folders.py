"""The hand-ins among an nbgrader exchange's or course's own folders, when one of those is given as a whole.

Exchange: `[COURSE/]inbound/USER+ASSIGNMENT+TIME[+RANDOM]/FILE` beside `outbound` and `feedback`. Course:
`submitted/USER/ASSIGNMENT/FILE` beside `source`, `release`, `autograded` and `feedback`. Without this the released
notebook would be a hand-in of a student called "outbound".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from grader.collecting.entries import Entry
from grader.collecting.layouts import EXCHANGE

__all__ = ["hand_ins_of_nbgrader"]

INBOUND, OTHERS_OF_EXCHANGE = "inbound", {"outbound", "feedback"}
SUBMITTED = "submitted"
SIGNS_OF_COURSE = {"nbgrader_config.py", "gradebook.db", "source", "release", "autograded"}


def hand_ins_of_nbgrader(entries: Sequence[Entry]) -> list[Entry]:
    """The entries without what is no hand-in in an exchange or a course; all of them where it is neither."""
    tops = {entry.path.parts[0] for entry in entries}
    if SUBMITTED in tops and tops & SIGNS_OF_COURSE:
        return [replace(entry, path=PurePosixPath(*entry.path.parts[1:]))
                for entry in entries if entry.path.parts[0] == SUBMITTED and len(entry.path.parts) > 1]  # fmt: skip
    courses = {found for entry in entries if (found := _course_of(entry.path)) is not None}
    return [entry for entry in entries if not any(_is_other(entry.path, course) for course in courses)]


def _course_of(path: PurePosixPath) -> tuple[str, ...] | None:
    """The folders around an exchange's `inbound`, the course's and a zip's at most; None where the path is no hand-in."""
    for depth in range(3):
        if path.parts[depth : depth + 1] == (INBOUND,) and EXCHANGE.match("/".join(path.parts[depth + 1 :])):
            return path.parts[:depth]
    return None


def _is_other(path: PurePosixPath, course: tuple[str, ...]) -> bool:
    """The path lies in another folder of the same exchange."""
    depth = len(course)
    return path.parts[:depth] == course and len(path.parts) > depth and path.parts[depth] in OTHERS_OF_EXCHANGE
