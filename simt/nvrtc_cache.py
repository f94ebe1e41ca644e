"""Finished builds on disk, by digest, in the user's cache folder.

A cache must never be the reason that something fails: an entry that cannot be read is compiled again, a folder that
cannot be written turns the cache off and `problem` says why.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import tempfile
from io import BytesIO
from pathlib import Path

from simt.sandbox import Message, read_message, write_message

__all__ = ["BuildCache", "cache_folder"]

SUFFIX = ".build"
DIGEST_BYTES = hashlib.sha256().digest_size


def cache_folder() -> Path:
    """`WARPWISE_CACHE`, or `warpwise` in the folder where this system keeps caches."""
    named = os.environ.get("WARPWISE_CACHE")
    if named:
        return Path(named)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home()) / "warpwise"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "warpwise"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "warpwise"


class BuildCache:
    """Messages kept by digest, at most `limit_bytes` of them; the least recently used go first.

    Attributes:
        problem: why nothing is stored, empty while all is well.
    """

    def __init__(self, folder: Path | None = None, limit_bytes: int = 256 * 1024 * 1024):
        """Uses `folder`, or the user's own (looked up at each use) when None."""
        self._folder = folder
        self._limit_bytes = limit_bytes
        self.problem = ""

    @property
    def folder(self) -> Path:
        """Where the entries are."""
        return self._folder or cache_folder() / "builds"

    def load(self, digest: str) -> Message | None:
        """The stored message, None when there is none or it is damaged."""
        path = self._path(digest)
        try:
            data = path.read_bytes()
            if hashlib.sha256(data[DIGEST_BYTES:]).digest() != data[:DIGEST_BYTES]:
                return None
            with contextlib.suppress(OSError):
                os.utime(path)
            return read_message(BytesIO(data[DIGEST_BYTES:]), len(data))
        except (OSError, ValueError, EOFError):
            return None

    def store(self, digest: str, message: Message) -> None:
        """Keeps `message`; a failure only sets `problem`."""
        body = BytesIO()
        write_message(body, message)
        data = body.getvalue()
        try:
            self._write(self._path(digest), hashlib.sha256(data).digest() + data)
            self._evict()
            self.problem = ""
        except OSError as error:
            self.problem = f"builds are not cached: {error.strerror or error} ({self.folder})"

    def _path(self, digest: str) -> Path:
        return self.folder / (digest + SUFFIX)

    def _write(self, path: Path, data: bytes) -> None:
        """Writes beside `path` and moves it there, so that a reader sees all of it or nothing."""
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(name, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise

    def _evict(self) -> None:
        with os.scandir(self.folder) as entries:
            known = [(entry.stat(), entry.path) for entry in entries if entry.name.endswith((SUFFIX, ".part"))]
        total = sum(stat.st_size for stat, _ in known)
        for stat, path in sorted(known, key=lambda item: item[0].st_mtime):
            if total <= self._limit_bytes:
                break
            with contextlib.suppress(OSError):
                os.unlink(path)
            total -= stat.st_size
