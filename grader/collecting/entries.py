"""The files in a folder or zip, zips inside zips included, as bytes; hostile archives end as a problem, not as a full disk."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

__all__ = ["MAX_FILE_BYTES", "Entry", "entries_of"]

MAX_FILE_BYTES = 16 * 1024 * 1024  # of one file; the reader of notebooks takes less still
MAX_ARCHIVE_BYTES = 4 * 1024 * 1024 * 1024  # of all files in one zip: a class of 1000 with 4 MB each
MAX_NESTING = 2  # a platform's zip of students' zips
_JUNK = {"__MACOSX", "__pycache__", "__marimo__", ".ipynb_checkpoints", ".git", ".DS_Store"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One file: its path below the collected folder, when it was written, and its bytes or why there are none."""

    path: PurePosixPath
    data: bytes
    when: datetime
    problem: str = ""


def entries_of(root: Path) -> Iterator[Entry]:
    """Every file below `root` (a folder or a zip), sorted by path; links are named, never followed."""
    if not root.is_dir():
        yield from _members(PurePosixPath(), root.read_bytes(), _written(root), 1)
        return
    for path in sorted(root.rglob("*")):
        inside = PurePosixPath(path.relative_to(root).as_posix())
        if _JUNK & set(inside.parts):
            continue
        if path.is_symlink():
            yield Entry(inside, b"", datetime.fromtimestamp(0, UTC), "a link; links are not followed")
        elif path.is_file():
            yield from _file(inside, path)


def _file(inside: PurePosixPath, path: Path) -> Iterator[Entry]:
    when = _written(path)
    if path.suffix.lower() == ".zip":
        yield from _members(inside.with_suffix(""), path.read_bytes(), when, 1)
        return
    size = path.stat().st_size
    if size > MAX_FILE_BYTES:
        yield Entry(inside, b"", when, _too_large(size))
    else:
        yield Entry(inside, path.read_bytes(), when)


def _written(path: Path) -> datetime:
    return datetime.fromtimestamp(int(path.stat().st_mtime), UTC)


def _too_large(size: int) -> str:
    return f"{size} bytes long, more than the {MAX_FILE_BYTES} that are kept"


def _members(inside: PurePosixPath, data: bytes, when: datetime, depth: int) -> Iterator[Entry]:
    """The files of a zip that lies at `inside`; a zip that cannot be read is one entry with a problem."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        members = sorted((info for info in archive.infolist() if not info.is_dir()), key=lambda info: info.filename)
        total = sum(info.file_size for info in members)
    except (zipfile.BadZipFile, ValueError, OSError, EOFError) as error:
        yield Entry(inside.with_suffix(".zip"), b"", when, f"no zip that can be read: {error}")
        return
    if total > MAX_ARCHIVE_BYTES:
        yield Entry(inside.with_suffix(".zip"), b"", when, f"a zip of {total} bytes, more than {MAX_ARCHIVE_BYTES}")
        return
    for info in members:
        # Never unpacked to disk, so that `..` in a name leads nowhere; it is dropped to keep paths readable.
        parts = [part for part in PurePosixPath(info.filename.replace("\\", "/")).parts if part not in ("..", "/")]
        if parts and not _JUNK & set(parts):
            yield from _member(archive, info, inside.joinpath(*parts), depth)


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: PurePosixPath, depth: int) -> Iterator[Entry]:
    when = _zipped(info)
    nested = path.suffix.lower() == ".zip"
    if info.file_size > MAX_FILE_BYTES and not nested:
        yield Entry(path, b"", when, _too_large(info.file_size))
        return
    try:
        with archive.open(info) as stream:
            data = stream.read((MAX_ARCHIVE_BYTES if nested else MAX_FILE_BYTES) + 1)
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, OSError, EOFError, ValueError) as error:
        yield Entry(path, b"", when, f"cannot be read from its zip: {error}")
        return
    if not nested:
        yield Entry(path, data, when)
    elif depth >= MAX_NESTING:
        yield Entry(path, b"", when, f"a zip inside {depth} others; hand in the notebook itself")
    else:
        yield from _members(path.with_suffix(""), data, when, depth + 1)


def _zipped(info: zipfile.ZipInfo) -> datetime:
    """When a member was written; a zip keeps local time without saying which, so it is taken for this host's."""
    try:
        return datetime(*info.date_time).astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0, UTC)
