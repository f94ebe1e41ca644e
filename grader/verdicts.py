"""From findings to a verdict: which word a finding stands for, and which word wins.

Precedence: source, PTX, launch, build, memory, synchronisation, uninitialised, input, answer, runtime, time.
"""

from __future__ import annotations

from collections.abc import Iterable

from grader.model import Verdict
from simt.diagnostics import Diagnostic, Severity

__all__ = ["PRECEDENCE", "verdict_of", "worst"]

# First wins.
PRECEDENCE = (
    Verdict.INTERNAL_ERROR,
    Verdict.UNREADABLE,
    Verdict.SOURCE_REJECTED,
    Verdict.PTX_REJECTED,
    Verdict.LAUNCH_REJECTED,
    Verdict.BUILD_LIMIT,
    Verdict.BUILD_FAILED,
    Verdict.NOT_SUPPORTED,
    Verdict.MEMORY_FAULT,
    Verdict.SYNC_ERROR,
    Verdict.DEADLOCK,
    Verdict.RACE,
    Verdict.UNINITIALISED,
    Verdict.INPUT_MODIFIED,
    Verdict.WRONG_ANSWER,
    Verdict.RUNTIME_ERROR,
    Verdict.TIMEOUT,
    Verdict.PASS,
)

# Longest matching start of a check's slug decides.
BY_CHECK = {
    "source.": Verdict.SOURCE_REJECTED,
    "ptx.policy": Verdict.PTX_REJECTED,
    "ptx.": Verdict.NOT_SUPPORTED,
    "launch.": Verdict.LAUNCH_REJECTED,
    "host.": Verdict.LAUNCH_REJECTED,
    "host.kernel-not-found": Verdict.BUILD_FAILED,
    "compile.": Verdict.BUILD_FAILED,
    "compile.limit": Verdict.BUILD_LIMIT,
    "memcheck.": Verdict.MEMORY_FAULT,
    "racecheck.": Verdict.RACE,
    "synccheck.": Verdict.SYNC_ERROR,
    "shuffle.": Verdict.SYNC_ERROR,
    "asynccheck.": Verdict.SYNC_ERROR,
    "deadlock.": Verdict.DEADLOCK,
    "livelock.": Verdict.DEADLOCK,
    "livelock.spin": Verdict.TIMEOUT,  # an endless loop that was recognised before its time was up
    "initcheck.": Verdict.UNINITIALISED,
    "input-modified": Verdict.INPUT_MODIFIED,
    "coverage.": Verdict.WRONG_ANSWER,
    "wrong-result": Verdict.WRONG_ANSWER,
    "runtime.": Verdict.RUNTIME_ERROR,
    "runtime.budget": Verdict.TIMEOUT,
}


def verdict_of(finding: Diagnostic) -> Verdict:
    """The verdict that `finding` alone would give; a warning or advice passes."""
    if finding.severity is not Severity.ERROR:
        return Verdict.PASS
    starts = [start for start in BY_CHECK if finding.check.startswith(start)]
    return BY_CHECK[max(starts, key=len)] if starts else Verdict.RUNTIME_ERROR


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict that stands first in `PRECEDENCE`; `pass` of none."""
    return min(verdicts, key=PRECEDENCE.index, default=Verdict.PASS)
