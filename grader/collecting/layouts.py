"""Whose a file is, from its path: one row for each way in which files of a class are named.

Formats: Canvas "Download submissions", Moodle "Download all submissions" (with and without folders), nbgrader's exchange
(`inbound/USER+ASSIGNMENT+TIME+RANDOM/`) and course folder (`submitted/USER/ASSIGNMENT/`), Gradescope "Export submissions"
(`submission_metadata.yml`), and plain `STUDENT/…/FILE`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath

from grader.collecting.entries import Entry, readable_name

__all__ = ["Owner", "is_named", "owner_of", "submitters", "told_apart", "written_time"]

METADATA = "submission_metadata.yml"
TIMESTAMP = "timestamp.txt"


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose file it is and what it was called when it was handed in.

    Attributes:
        student: the id that marks are kept under.
        name, platform_id: what the platform calls the student; "" where it does not say.
        file: the file's own name.
        when: time of the hand-in where the path tells, else None.
        is_late: the platform marked it late.
        download: where one download of a platform lies, within which `platform_id` tells people apart; None without.
    """

    student: str
    file: str
    name: str = ""
    platform_id: str = ""
    when: datetime | None = None
    is_late: bool = False
    download: str | None = None


EXCHANGE = re.compile(r"(?:^|/)(?P<student>[^+/]+)\+(?P<assignment>[^+/]+)\+(?P<when>[^+/]+)(?:\+[^/]*)?/(?P<file>.+)$")
CANVAS = re.compile(
    r"(?:^|/)(?P<name>[^_/]+)_(?P<late>LATE_)?(?P<id>\d+)_(?P<submission>\d+)_(?P<file>[^/]+?)(?:-\d+)?(?P<suffix>\.[^./]+)$"
)
# With names hidden; the code stands for the student, and its own number for each file.
CANVAS_HIDDEN = re.compile(
    r"(?:^|/)(?P<late>LATE_)?(?P<name>anon_(?P<id>[0-9A-Za-z]+))_\d+_(?P<file>[^/]+?)(?:-\d+)?(?P<suffix>\.[^./]+)$"
)
MOODLE = re.compile(
    r"(?:^|/)(?P<name>[^/]+?)(?:_(?P<id>\d+))?_assignsubmission_(?:file|onlinetext)(?:_/|/|_)(?P<file>.+)$"
)
# A student's zip from Canvas, opened: everything in it is its owner's, whatever it is called.
CANVAS_ZIP = re.compile(
    r"(?:^|/)(?P<name>[^_/]+)_(?P<late>LATE_)?(?P<id>\d+)_(?P<submission>\d+)_[^/]*/(?:.*/)?(?P<file>[^/]+)$"
)
GRADESCOPE = re.compile(r"(?:^|/)(?P<submission>submission_\d+)/(?P<file>.+)$")


def owner_of(path: PurePosixPath, lessons: Sequence[str], alone: str, deepest: int = 99) -> Owner:
    """Whose the file at `path` is. The outermost name that says so counts, since students choose those inside.

    Args:
        path: below the collected folder.
        lessons: names of lessons, by which a file that lies in no student's folder is told apart.
        alone: the student whose folder it would be if a lesson lies right in it.
        deepest: how many folders may lie around a platform's name.
    """
    text = str(path)
    found = [(match.start(), make, match) for pattern, make in LAYOUTS if (match := pattern.search(text))]
    found = [one for one in found if text[: one[0]].count("/") + bool(one[0]) <= deepest]
    if found:
        _, make, match = min(found, key=lambda one: one[0])
        return make(match)
    if len(path.parts) > 1:
        return Owner(path.parts[0], path.name)
    return _loose(path, lessons, alone)


def is_named(path: PurePosixPath) -> bool:
    """True where some part of the path is a platform's name for a student."""
    return any(pattern.search(str(path)) for pattern, _ in LAYOUTS)


def _of_exchange(found: re.Match[str]) -> Owner:
    return Owner(found["student"], PurePosixPath(found["file"]).name, when=written_time(found["when"]))


def _of_moodle(found: re.Match[str]) -> Owner:
    file = PurePosixPath(found["file"]).name
    return Owner(found["name"], file, found["name"], found["id"] or "", download=found.string[: found.start()])


def _of_canvas(found: re.Match[str]) -> Owner:
    file = found["file"] + found.groupdict().get("suffix", "")
    download = found.string[: found.start()]
    return Owner(found["name"], file, found["name"], found["id"], None, bool(found["late"]), download)


def _of_gradescope(found: re.Match[str]) -> Owner:
    return Owner(found["submission"], PurePosixPath(found["file"]).name)


LAYOUTS = ((EXCHANGE, _of_exchange), (MOODLE, _of_moodle), (CANVAS, _of_canvas), (CANVAS_HIDDEN, _of_canvas),
           (CANVAS_ZIP, _of_canvas), (GRADESCOPE, _of_gradescope))  # fmt: skip


def told_apart(owners: Iterable[Owner]) -> dict[Owner, str]:
    """The id of each owner whose name several people of one download have: the name with the platform's number."""
    numbers: dict[tuple[str, str], set[str]] = {}
    listed = [owner for owner in owners if owner.download is not None]
    for owner in listed:
        numbers.setdefault((str(owner.download), owner.student), set()).add(owner.platform_id)
    shared = {student for (_, student), found in numbers.items() if len(found) > 1}
    return {owner: f"{owner.student} ({owner.platform_id})" for owner in listed if owner.student in shared}


def _loose(path: PurePosixPath, lessons: Sequence[str], alone: str) -> Owner:
    """A file in no folder: `01_tiling.py` is the only student's, `ann_01_tiling.py` and `ann.py` are ann's."""
    for lesson in lessons:
        if path.stem == lesson:
            return Owner(alone, path.name)
        for sign in "_-+ ":
            if path.stem.endswith(sign + lesson):
                return Owner(path.stem.removesuffix(sign + lesson), lesson + path.suffix)
    return Owner(path.stem, path.name)


def written_time(text: str) -> datetime | None:
    """The time in nbgrader's words, `2026-11-30 12:00:00.5 UTC` or with the name of a time zone; None where it is none."""
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    plain, _, zone = text.strip().rpartition(" ")
    try:
        parsed = datetime.fromisoformat(plain if plain and ":" in plain else text.strip())
        if parsed.tzinfo is not None:
            return parsed.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    try:
        return parsed.replace(tzinfo=ZoneInfo(zone) if ":" in plain and zone else UTC).astimezone(UTC)
    except (ZoneInfoNotFoundError, ValueError, OverflowError, OSError):
        return parsed.replace(tzinfo=UTC)


def submitters(lists: Sequence[Entry]) -> Mapping[str, tuple[tuple[Owner, ...], datetime | None]]:
    """From Gradescope's metadata: submission → (everyone it belongs to, when it was made).

    Args:
        lists: files with that name; one inside another's folder is a student's own and says nothing.
    """
    found: dict[str, tuple[tuple[Owner, ...], datetime | None]] = {}
    for entry in lists:
        if any(other.path.parent in entry.path.parent.parents for other in lists):
            continue
        plain = _yaml(entry.data)
        for submission, facts in plain.items() if isinstance(plain, dict) else ():
            if isinstance(facts, dict):
                found[str(submission)] = (_people(facts), _created(facts.get(":created_at")))
    return found


def _yaml(data: bytes) -> object:
    """What the YAML says; None where it is none, or holds a date or a number that there is not."""
    import yaml

    try:
        return yaml.safe_load(data)
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError):
        return None


def _people(facts: Mapping) -> tuple[Owner, ...]:
    rows = facts.get(":submitters")
    owners = []
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict):
            name, email = _word(row.get(":name")), _word(row.get(":email"))
            if student := _word(row.get(":sid")) or email or name:
                owners.append(Owner(student, "", name, email))
    return tuple(owners)


def _word(value: object) -> str:
    """A name or a number as text that can be kept and shown; "" for nothing and for what is made of parts."""
    return readable_name(str(value).encode("utf-8", "replace").decode()) if isinstance(value, (str, int)) else ""


def _created(value: object) -> datetime | None:
    if isinstance(value, datetime):
        return written_time(value.isoformat())
    return written_time(value) if isinstance(value, str) else None
