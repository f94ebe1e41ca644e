"""A fair share of the processors that this process may use, while others grade on the same machine.

Jobs of all processes of one user take slots, one a processor, as lock files: 20 checks at once on two processors run
two at a time, one thread each, while a lone check gets both.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from simt.cpus import available_cpus

__all__ = ["cpu_slots", "slots_folder"]

WAIT_SECONDS = 60.0  # after which a job runs anyway: a stuck process must not stop everybody
POLL_SECONDS = 0.03
ENVIRONMENT = "WARPWISE_SLOTS"
MOST_THREADS = "WARPWISE_JOB_THREADS"  # of one job; a pool that fills the machine with jobs sets it to 1


def slots_folder() -> Path:
    """Where the lock files of this user lie; `WARPWISE_SLOTS` names another place."""
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    return Path(os.environ.get(ENVIRONMENT) or Path(tempfile.gettempdir()) / f"warpwise-{user}")


@contextlib.contextmanager
def cpu_slots() -> Iterator[int]:
    """Holds one slot, and as many more as are free and a job may have; yields how many threads it may use.

    Waits for the first one. Where lock files cannot be had the job runs with what the process may use.
    """
    held: list = []
    most = int(os.environ.get(MOST_THREADS) or available_cpus())
    try:
        yield len(_take(held, most)) or min(most, available_cpus())
    finally:
        for lock in held:
            lock.release()


def _is_ours(folder: Path) -> bool:
    """False for a folder that another user put there: its links could lead a lock file anywhere."""
    return not hasattr(os, "getuid") or (folder.lstat().st_uid == os.getuid() and not folder.is_symlink())


def _take(held: list, most: int) -> list:
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
            if len(held) >= most:
                break
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
