"""The files in a folder or zip, zips inside zips included, as bytes; hostile archives end as a problem, not as a full disk."""

from __future__ import annotations

import io
import lzma
import os
import stat
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

__all__ = ["MAX_FILE_BYTES", "Entry", "entries_of", "readable_name"]

MAX_FILE_BYTES = 16 * 1024 * 1024  # of one file; the reader of notebooks takes less still
MAX_ARCHIVE_BYTES = 4 * 1024 * 1024 * 1024  # of all files in one zip: a class of 1000 with 4 MB each
MAX_NESTING = 2  # a platform's zip of students' zips
_LONG_AGO = datetime.fromtimestamp(0, UTC)  # of what tells no time: it never stands before another hand-in
_JUNK = {"__MACOSX", "__pycache__", "__marimo__", ".ipynb_checkpoints", ".git", ".DS_Store"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One file: its path below the collected folder, when it was written, and its bytes or why there are none."""

    path: PurePosixPath
    data: bytes
    when: datetime
    problem: str = ""


def entries_of(root: Path) -> Iterator[Entry]:
    """Every file below `root` (a folder or a zip), sorted by path; links are named, never followed.

    What cannot be read is an entry with a problem.

    Raises:
        OSError: `root` itself cannot be read.
    """
    if not root.is_dir():
        yield from _members(PurePosixPath(), root.read_bytes(), _written(root), 1)
        return
    os.listdir(root)
    shut: list[OSError] = []
    found = []
    for folder, folders, files in os.walk(root, onerror=shut.append):
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        found += [Path(folder, name) for name in (*files, *links)]
    for path in sorted(found):
        inside = _inside(path, root)
        if not _JUNK & set(inside.parts):
            yield from _file(inside, path)
    for error in sorted(shut, key=lambda error: str(error.filename)):
        inside = _inside(Path(error.filename), root)
        if not _JUNK & set(inside.parts):
            yield Entry(inside / "(folder)", b"", _LONG_AGO, f"a folder that cannot be read: {error.strerror}")


def _inside(path: Path, root: Path) -> PurePosixPath:
    return PurePosixPath(*(readable_name(part) for part in path.relative_to(root).parts))


def readable_name(name: str) -> str:
    """A name as people see it: one spelling of letters with accents, and nothing that commands a terminal.

    Bytes that are no text and control characters stand there as `\\xNN`.
    """
    text = unicodedata.normalize("NFC", os.fsencode(name).decode("utf-8", "backslashreplace"))
    return "".join(
        f"\\x{ord(one):02x}" if unicodedata.category(one) in ("Cc", "Cs", "Zl", "Zp") else one for one in text
    )


def _file(inside: PurePosixPath, path: Path) -> Iterator[Entry]:
    is_zip = path.suffix.lower() == ".zip"
    try:
        status = path.lstat()
        size, is_file = status.st_size, stat.S_ISREG(status.st_mode)
        data = path.read_bytes() if is_file and (is_zip or size <= MAX_FILE_BYTES) else b""
    except OSError as error:
        yield Entry(inside, b"", _LONG_AGO, f"cannot be read: {error.strerror}")
        return
    if stat.S_ISLNK(status.st_mode):
        yield Entry(inside, b"", _LONG_AGO, "a link; links are not followed")
    elif is_file and is_zip:
        yield from _members(inside.with_suffix(""), data, _written(path), 1)
    elif is_file:
        yield Entry(inside, data, _written(path), _too_large(size) if size > MAX_FILE_BYTES else "")


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
        names = PurePosixPath(info.filename.replace("\\", "/")).parts
        parts = [readable_name(part) for part in names if part not in ("..", "/")]
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
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, RuntimeError, OSError, EOFError, ValueError) as error:
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
        return _LONG_AGO
