"""Exit status of the commands: the contract that scripts rely on."""

from __future__ import annotations

import enum
from collections.abc import Iterable

from grader.model import Report, Verdict

__all__ = ["Refusal", "Status", "status_of"]


class Status(enum.IntEnum):
    PASSED = 0
    NOT_PASSED = 1
    USAGE = 2  # or unreadable input
    NOT_SUPPORTED = 3
    INTERNAL = 4


class Refusal(Exception):
    """Why a command does nothing: what happened, what to do, and the status to leave with."""

    def __init__(self, message: str, help: str = "", status: Status = Status.USAGE):
        super().__init__(message)
        self.message, self.help, self.status = message, help, status


def status_of(reports: Iterable[Report]) -> Status:
    """The status that reports add up to: our own failure first, then what could not be read or run, then the rest."""
    seen = list(reports)
    verdicts = {report.verdict for report in seen}
    if Verdict.INTERNAL_ERROR in verdicts:
        return Status.INTERNAL
    if verdicts == {Verdict.UNREADABLE}:
        return Status.USAGE
    if Verdict.NOT_SUPPORTED in verdicts and all(r.passed or r.verdict is Verdict.NOT_SUPPORTED for r in seen):
        return Status.NOT_SUPPORTED
    return Status.PASSED if all(report.passed for report in seen) else Status.NOT_PASSED
