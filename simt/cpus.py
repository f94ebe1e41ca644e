"""How many processors this process may use: its affinity, cut to the quotas of the control groups around it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

__all__ = ["available_cpus"]

GROUPS = Path("/sys/fs/cgroup")
MEMBERSHIP = Path("/proc/self/cgroup")


def available_cpus() -> int:
    """Processors of this process's affinity, cut to the tightest quota of its control groups; at least 1."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(count, _quota(GROUPS, MEMBERSHIP)))


@cache
def _quota(groups: Path, membership: Path) -> int:
    """Whole processors that the control groups allow, a very large number where nothing limits them.

    Read once: a confined process can no longer read these files.
    """
    return min((max(1, int(quota)) for quota in _quotas(groups, membership)), default=2**31)


def _quotas(groups: Path, membership: Path) -> Iterator[float]:
    """Processors that each control group above this process allows, in version 1 and 2 of control groups."""
    rows: list[str] = []
    with contextlib.suppress(OSError):
        rows = membership.read_text().splitlines()
    for row in rows:
        _, controllers, path = row.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        here = (groups / controllers if controllers else groups) / path.lstrip("/")
        for folder in (here, *here.parents):
            if not folder.is_relative_to(groups):
                break
            yield from _quota_of(folder)


def _quota_of(folder: Path) -> Iterator[float]:
    with contextlib.suppress(OSError, ValueError):
        most, period = (folder / "cpu.max").read_text().split()
        if most != "max":
            yield int(most) / int(period)
    with contextlib.suppress(OSError, ValueError):
        quota = int((folder / "cpu.cfs_quota_us").read_text())
        if quota > 0:
            yield quota / int((folder / "cpu.cfs_period_us").read_text())
