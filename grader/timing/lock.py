"""One timing at a time on a GPU: a lock in a file that every user of the machine reaches."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["GpuBusy", "exclusive", "lock_path"]

FOLDER = "WARPWISE_LOCKS"  # a folder that all users of the GPU can write to; the system's temporary one otherwise
WAIT_SECONDS = 120.0  # a round holds the lock for about half a second; more than two hundred may wait


class GpuBusy(RuntimeError):
    """The lock was not free in time, or its file cannot be written."""


def lock_path(uuid: str) -> Path:
    """The lock of the GPU with this UUID."""
    name = re.sub(r"[^A-Za-z0-9-]", "_", uuid)
    return Path(os.environ.get(FOLDER) or tempfile.gettempdir()) / f"warpwise-{name}.lock"


@contextmanager
def exclusive(uuid: str, seconds: float = WAIT_SECONDS) -> Iterator[None]:
    """Holds the GPU's lock; nothing to hold without a UUID. The system frees the lock of a process that dies.

    Raises:
        GpuBusy: see there.
    """
    if not uuid:
        yield
        return
    from filelock import FileLock, Timeout

    lock = FileLock(str(lock_path(uuid)), mode=0o666)
    try:
        lock.acquire(timeout=seconds)
    except Timeout:
        raise GpuBusy(f"the GPU was in use for {seconds:g} s by other timings") from None
    except OSError as error:
        raise GpuBusy(f"{lock_path(uuid)} cannot be locked ({error}); set {FOLDER} to a folder all can write") from None
    try:
        yield
    finally:
        lock.release()
