"""Notices that files were saved, by looking at them; works on every system and file server without a package."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

__all__ = ["Stamp", "changes", "stamps"]

Stamp = tuple[int, int, int]
POLL_SECONDS = 0.2


def stamps(paths: Sequence[Path]) -> dict[Path, Stamp | None]:
    """(time, size, inode) of each file, None for one that is not there, as between the two steps of a save."""
    found: dict[Path, Stamp | None] = {}
    for path in paths:
        try:
            status = path.stat()
            found[path] = (status.st_mtime_ns, status.st_size, status.st_ino)
        except OSError:
            found[path] = None
    return found


def changes(
    list_paths: Callable[[], Sequence[Path]], pause: Callable[[], object] = lambda: time.sleep(POLL_SECONDS)
) -> Iterator[list[Path]]:
    """The files that changed, each time some did; the first time all of them. It never ends by itself.

    A file is reported once it looks the same twice, so that one which an editor is still writing is not read half.
    """
    reported: dict[Path, Stamp | None] = {}
    before: dict[Path, Stamp | None] = {}
    while True:
        now = stamps(list_paths())
        settled = [
            path
            for path, stamp in now.items()
            if stamp is not None and stamp != reported.get(path) and (not reported or before.get(path) == stamp)
        ]
        if settled:
            reported.update({path: now[path] for path in settled})
            yield settled
        before = now
        pause()
