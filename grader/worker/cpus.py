"""How many processors this process may use, and a fair share of them while others grade on the same machine.

A process's share follows its affinity and its control group's quota. Jobs of all processes of one user take slots,
one a processor, as lock files: 20 checks at once on two processors run two at a time, one thread each, while a lone
check gets both.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

__all__ = ["available_cpus", "cpu_slots", "slots_folder"]

WAIT_SECONDS = 60.0  # after which a job runs anyway: a stuck process must not stop everybody
POLL_SECONDS = 0.03
ENVIRONMENT = "WARPWISE_SLOTS"


@cache
def available_cpus() -> int:
    """Processors of this process's affinity, cut to its control group's quota; at least 1."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min([count, *(int(quota) for quota in _quotas())]))


def _quotas() -> Iterator[float]:
    """Processors that each control group above this process allows."""
    root = Path("/sys/fs/cgroup")
    with contextlib.suppress(OSError, ValueError):
        for row in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, path = row.split(":", 2)
            base = root if not controllers else root / controllers
            if controllers and "cpu" not in controllers.split(","):
                continue
            here = base / path.lstrip("/")
            for folder in (here, *here.parents):
                if not folder.is_relative_to(root):
                    break
                yield from _quota(folder)


def _quota(folder: Path) -> Iterator[float]:
    with contextlib.suppress(OSError, ValueError):
        most, period = (folder / "cpu.max").read_text().split()
        if most != "max":
            yield max(1.0, int(most) / int(period))
    with contextlib.suppress(OSError, ValueError):
        quota = int((folder / "cpu.cfs_quota_us").read_text())
        if quota > 0:
            yield max(1.0, quota / int((folder / "cpu.cfs_period_us").read_text()))


def slots_folder() -> Path:
    """Where the lock files of this user lie; `WARPWISE_SLOTS` names another place."""
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    return Path(os.environ.get(ENVIRONMENT) or Path(tempfile.gettempdir()) / f"warpwise-{user}")


@contextlib.contextmanager
def cpu_slots() -> Iterator[int]:
    """Holds one slot, and as many more as are free; yields how many threads a job may use.

    Waits for the first one. Where lock files cannot be had the job runs with what the process may use.
    """
    held: list = []
    try:
        yield len(_take(held)) or available_cpus()
    finally:
        for lock in held:
            lock.release()


def _is_ours(folder: Path) -> bool:
    """False for a folder that another user put there: its links could lead a lock file anywhere."""
    return not hasattr(os, "getuid") or (folder.lstat().st_uid == os.getuid() and not folder.is_symlink())


def _take(held: list) -> list:
    from filelock import FileLock, Timeout

    folder = slots_folder()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_ours(folder):
            return held
    except OSError:
        return held
    free = [FileLock(folder / f"cpu-{number}.lock") for number in range(available_cpus())]
    deadline = time.monotonic() + WAIT_SECONDS
    while not held and time.monotonic() < deadline:
        for lock in free:
            try:
                lock.acquire(timeout=0)
                held.append(lock)
            except Timeout:
                continue
            except OSError:
                return held
        if not held:
            time.sleep(POLL_SECONDS)
    return held
