"""The files in a folder or zip, zips inside zips included, as bytes; hostile ones end as a problem, not as a full memory.

Of a file is kept what the caller asks for; every read has a bound that was known before it began.
"""

from __future__ import annotations

import contextlib
import errno
import io
import lzma
import os
import stat
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import IO

__all__ = ["Entry", "entries_of", "readable_name"]

MAX_ARCHIVE_BYTES = 4 * 1024 * 1024 * 1024  # of all files in one zip: a class of 1000 with 4 MB each
MAX_KEPT_BYTES = 64 * 1024 * 1024  # of what is kept of one student's zip
MAX_INNER_BYTES = 64 * 1024 * 1024  # of a zip inside a zip, which lies in memory while it is read
MAX_TABLE_BYTES = 64 * 1024 * 1024  # of a zip's table of contents: 600,000 files, and Python keeps it in memory
_IS_UTF8 = 0x800  # bit 11 of a member's flags, APPNOTE.TXT 4.4.4
MAX_NESTING = 2  # a platform's zip of students' zips
STEP_BYTES = 4096  # of one read: as many compressed bytes of bzip2 are at most 80 MB
_LONG_AGO = datetime.fromtimestamp(0, UTC)  # of what tells no time: it never stands before another hand-in
# What `zipfile` and its decompressors raise about damaged, encrypted or unknown data.
_BROKEN = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, RuntimeError, OSError, EOFError, ValueError, OverflowError,
)  # fmt: skip
_TURNS = frozenset(["LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"])  # UAX 9: explicit formatting
# What systems and tools leave beside somebody's work, and libraries; `._NAME` is what macOS knows of NAME elsewhere.
_JUNK = {
    "__MACOSX", "__pycache__", "__marimo__", ".ipynb_checkpoints", ".git", ".DS_Store", "Thumbs.db", "desktop.ini",
    "site-packages", ".venv", "node_modules",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Entry:
    """One file: its path below the collected folder, when it was written, and its bytes or why there are none."""

    path: PurePosixPath
    data: bytes
    when: datetime
    problem: str = ""


MostBytes = Callable[[PurePosixPath], int]


def entries_of(root: Path, most_bytes: MostBytes) -> Iterator[Entry]:
    """Every file below `root` (a folder or a zip), sorted by path; links are named, never followed.

    What cannot be read is an entry with a problem.

    Args:
        root: a folder or a zip.
        most_bytes: how many bytes of a file are worth keeping; 0 where its name is enough.

    Raises:
        OSError: `root` itself cannot be read.
    """
    if not root.is_dir():
        with _Archive(root) as file:
            yield from _members(PurePosixPath(), file, _written(root), most_bytes, 1, True)
        return
    os.listdir(root)
    shut: list[OSError] = []
    found = []
    for folder, folders, files in os.walk(root, onerror=shut.append):
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        found += [Path(folder, name) for name in (*files, *links)]
    for path in sorted(found):
        inside = _inside(path, root)
        if not _is_junk(inside):
            yield from _file(inside, path, most_bytes)
    for error in sorted(shut, key=lambda error: str(error.filename)):
        inside = _inside(Path(error.filename), root)
        if not _is_junk(inside):
            yield Entry(inside / "(folder)", b"", _LONG_AGO, f"a folder that cannot be read: {error.strerror}")


def _is_junk(path: PurePosixPath) -> bool:
    return any(part in _JUNK or part.startswith("._") for part in path.parts)


def _inside(path: Path, root: Path) -> PurePosixPath:
    return PurePosixPath(*(readable_name(part) for part in path.relative_to(root).parts))


def readable_name(name: str) -> str:
    """A name as people see it: one spelling of letters with accents, and nothing that commands a terminal.

    Bytes that are no text, control characters and those that turn the direction of writing stand there as `\\xNN`.
    """
    text = unicodedata.normalize("NFC", os.fsencode(name).decode("utf-8", "backslashreplace"))
    return "".join(f"\\x{ord(one):02x}" if _commands(one) else one for one in text)


def _commands(one: str) -> bool:
    return unicodedata.category(one) in ("Cc", "Cs", "Zl", "Zp") or unicodedata.bidirectional(one) in _TURNS


def _file(inside: PurePosixPath, path: Path, most_bytes: MostBytes) -> Iterator[Entry]:
    try:
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            yield Entry(inside, b"", _LONG_AGO, "a link; links are not followed")
        elif not stat.S_ISREG(mode):
            yield Entry(inside, b"", _LONG_AGO, "a pipe, a socket or a device, and no file")
        else:
            with _Archive(os.open(path, _READING)) as file:
                yield from _opened(inside, file, most_bytes)
    except OSError as error:
        yield Entry(inside, b"", _LONG_AGO, f"cannot be read: {error.strerror}")


def _opened(inside: PurePosixPath, file: _Archive, most_bytes: MostBytes) -> Iterator[Entry]:
    status = os.fstat(file.fileno())
    when = datetime.fromtimestamp(int(status.st_mtime), UTC)
    if inside.suffix.lower() == ".zip":
        yield from _members(inside.with_suffix(""), file, when, most_bytes, 1, False)
    else:
        yield _read(inside, file, when, status.st_size, most_bytes(inside))


def _read(path: PurePosixPath, stream: IO[bytes], when: datetime, size: int, most: int) -> Entry:
    """The entry of a file that is said to be `size` bytes long and may have changed since."""
    data = _first(stream, most + 1) if most and size <= most else b""
    size = max(size, len(data))
    if most and size > most:
        problem = (
            f"{size} bytes long, more than the {most} that are read; clear the notebook's outputs and save it again"
        )
        return Entry(path, b"", when, problem)
    return Entry(path, data, when)


def _first(stream: IO[bytes], most: int) -> bytes:
    """At most the first `most` bytes, in small steps: what a step makes `zipfile` unpack has no other bound."""
    parts = []
    while most > 0 and (part := stream.read(min(most, STEP_BYTES))):
        parts.append(part)
        most -= len(part)
    return b"".join(parts)


# A file that became a link or a pipe after it was listed is neither followed nor waited for.
_READING = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


class _Archive(io.FileIO):
    """A file that refuses the one long read that `zipfile` makes: that of a table of contents as long as the zip says."""

    def read(self, size: int | None = -1, /) -> bytes:
        """As of any file."""
        if size is not None and size > MAX_TABLE_BYTES:
            raise zipfile.BadZipFile(f"a table of contents of {size} bytes, more than {MAX_TABLE_BYTES}")
        return super().read(-1 if size is None else size) or b""


def _written(path: Path) -> datetime:
    return datetime.fromtimestamp(int(path.stat().st_mtime), UTC)


def _members(
    inside: PurePosixPath, source: IO[bytes], when: datetime, most_bytes: MostBytes, depth: int, is_class: bool
) -> Iterator[Entry]:
    """The files of a zip that lies at `inside`; a zip that cannot be read is one entry with a problem.

    `zipfile` gives no more of a file than the table of contents says, so that sums over the table are bounds.
    """
    try:
        archive = zipfile.ZipFile(source)
        members = [(info, _member_path(inside, info)) for info in archive.infolist() if info.filename[-1:] not in "/\\"]
    except _BROKEN as error:
        yield _refused(inside, when, f"no zip that can be read: {error}")
        return
    total = sum(info.file_size for info, _ in members)
    kept = sum(min(info.file_size, most_bytes(path)) for info, path in members)
    if total > MAX_ARCHIVE_BYTES or (kept > MAX_KEPT_BYTES and not is_class):
        size, most = (total, MAX_ARCHIVE_BYTES) if total > MAX_ARCHIVE_BYTES else (kept, MAX_KEPT_BYTES)
        yield _refused(inside, when, f"a zip of {size} bytes, more than {most}")
        return
    members = [(info, path) for info, path in members if path != inside and not _is_junk(path)]
    if not members and inside.parts:
        yield _refused(inside, when, "an empty zip")
    for info, path in sorted(members, key=lambda one: one[0].filename):
        yield from _member(archive, info, path, most_bytes, depth)


def _refused(inside: PurePosixPath, when: datetime, problem: str) -> Entry:
    """The zip as one entry with a problem; nobody's where it is the whole class."""
    if not inside.parts:
        raise OSError(errno.EINVAL, problem)
    return Entry(inside.with_suffix(".zip"), b"", when, problem)


def _member_path(inside: PurePosixPath, info: zipfile.ZipInfo) -> PurePosixPath:
    """Where a member lies. It is never unpacked to disk, so `..` leads nowhere; it is dropped to keep paths readable."""
    names = PurePosixPath(_member_name(info).replace("\\", "/")).parts
    return inside.joinpath(*(readable_name(part) for part in names if part not in ("..", "/")))


def _member_name(info: zipfile.ZipInfo) -> str:
    """The name that was meant: without the flag for UTF-8 it is in the code page of DOS, or in UTF-8 as macOS writes it."""
    if not info.flag_bits & _IS_UTF8:
        with contextlib.suppress(UnicodeError):
            return info.filename.encode("cp437").decode("utf-8")
    return info.filename


def _member(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: PurePosixPath, most_bytes: MostBytes, depth: int
) -> Iterator[Entry]:
    when = _zipped(info)
    try:
        if path.suffix.lower() != ".zip":
            with archive.open(info) as stream:
                yield _read(path, stream, when, info.file_size, most_bytes(path))
        elif depth >= MAX_NESTING:
            yield Entry(path, b"", when, f"a zip inside {depth} others; hand in the notebook itself")
        elif info.file_size > MAX_INNER_BYTES:
            yield Entry(path, b"", when, f"a zip of {info.file_size} bytes inside another, more than {MAX_INNER_BYTES}")
        else:
            with archive.open(info) as stream:
                data = _first(stream, MAX_INNER_BYTES)
            yield from _members(path.with_suffix(""), io.BytesIO(data), when, most_bytes, depth + 1, False)
    except _BROKEN as error:
        yield Entry(path, b"", when, f"cannot be read from its zip: {error}")


def _zipped(info: zipfile.ZipInfo) -> datetime:
    """When a member was written; a zip keeps local time without saying which, so it is taken for this host's."""
    try:
        return datetime(*info.date_time).astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return _LONG_AGO
