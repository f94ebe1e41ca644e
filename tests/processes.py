"""Other processes, as a test looks at them: who started whom, who is busy, and who has ended.

Waits here are for what has to come. Their limit only keeps a test from hanging, so it is far beyond what a busy machine takes.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

__all__ = ["PATIENCE_SECONDS", "children", "cpu_seconds", "ended", "wait_until"]

PATIENCE_SECONDS = 300.0
Found = TypeVar("Found")


def children(pid: int) -> list[int]:
    """The processes that `pid` started and has not collected; none once it is gone."""
    try:
        lists = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    except OSError:
        return []
    return [int(word) for text in lists for word in text.split()]


def cpu_seconds(pid: int) -> float:
    """Processor time of a process that is there."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def ended(pid: int, seconds: float = PATIENCE_SECONDS) -> bool:
    """Waits for the process `pid`, which may be a stranger's, to end; False when it is still there after `seconds`."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], seconds)[0])
    finally:
        os.close(handle)


def wait_until(condition: Callable[[], Found], seconds: float = PATIENCE_SECONDS) -> Found:
    """What `condition()` returns as soon as it is true; AssertionError after `seconds`."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)
    return found
