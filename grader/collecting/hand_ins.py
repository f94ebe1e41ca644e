"""The hand-ins of a class: whose, which file, which bytes, when; and who handed in nothing that could be read."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import groupby
from pathlib import Path, PurePosixPath

from grader.collecting.entries import Entry, entries_of, readable_name
from grader.collecting.layouts import (
    GRADESCOPE,
    METADATA,
    TIMESTAMP,
    Owner,
    is_named,
    owner_of,
    submitters,
    told_apart,
    written_time,
)
from grader.collecting.nbgrader_folders import hand_ins_of_nbgrader
from grader.notebook import MAX_NOTEBOOK_BYTES

__all__ = ["Collected", "CollectingProblem", "HandIn", "Student", "collect"]

NOTEBOOKS = (".py", ".ipynb")
MOST_HAND_INS = 500  # of one student: two years of a course with every attempt kept; each one takes time to judge
MOST_LIST_BYTES = 16 * 1024 * 1024  # of Gradescope's list, which holds earlier results too
MOST_TIME_BYTES = 1024  # of a file with one time in it


class CollectingProblem(ValueError):
    """A folder or zip that holds no hand-in at all; the message says what was found instead."""


@dataclass(frozen=True, slots=True)
class Student:
    """One student as the source names them; those with the same `team` share one hand-in."""

    id: str
    name: str = ""
    platform_id: str = ""
    team: str = ""


@dataclass(frozen=True, slots=True)
class HandIn:
    """One notebook as it came.

    Attributes:
        student: id.
        file: its name without folders.
        place: its path below the collected folder, for messages.
        data: its bytes; empty with a `problem`.
        received: by the platform's record, else the file's own time.
        is_late: the platform said so.
        problem: why it could not even be kept.
    """

    student: str
    file: str
    place: str
    data: bytes
    received: datetime
    is_late: bool = False
    problem: str = ""

    @property
    def digest(self) -> str:
        """sha256 of the bytes."""
        return hashlib.sha256(self.data).hexdigest()


@dataclass(frozen=True, slots=True)
class Collected:
    """What a folder or zip holds.

    Attributes:
        students: everyone who appears in it, by id.
        hand_ins: notebooks, sorted by student, time and place.
        without: student → what lies there instead of a notebook.
    """

    students: dict[str, Student]
    hand_ins: tuple[HandIn, ...]
    without: dict[str, str] = field(default_factory=dict)


def collect(root: Path, lessons: Sequence[str] = (), skipped: Sequence[Path] = ()) -> Collected:
    """Every hand-in below `root`.

    Args:
        root: a folder or a zip.
        lessons: names of the course's lessons.
        skipped: folders and files below it that are the instructor's own.

    Raises:
        CollectingProblem: there is none, or `root` is something else.
    """
    if not os.path.lexists(root):
        raise CollectingProblem(f"there is no {root}")
    if not os.path.isdir(root) and root.suffix.lower() != ".zip":
        raise CollectingProblem(f"{root} is neither a folder nor a zip")
    try:
        every = list(entries_of(root, _most_bytes))
    except OSError as error:
        raise CollectingProblem(f"{root} cannot be read: {error.strerror}") from error
    entries = [entry for entry in every if not _is_skipped(entry, root, skipped)]
    if root.suffix.lower() == ".zip":
        entries = _without_wrapper(entries)
    hand_ins = hand_ins_of_nbgrader(entries)
    found = _sort_out(hand_ins, lessons, root.stem if root.is_file() else root.resolve().name)
    for name in _empty_folders(root, every) if len(hand_ins) == len(entries) else ():
        if name not in found.students:
            found.students[name] = Student(name)
            found.without[name] = "an empty folder"
    if not found.hand_ins and not found.without:
        raise CollectingProblem(f"{root} holds no hand-in: no .py, .ipynb or zip in it")
    return found


def _empty_folders(root: Path, entries: Iterable[Entry]) -> list[str]:
    """Names of folders right in `root` that hold nothing but what tools and systems leave."""
    if not root.is_dir():
        return []
    filled = {entry.path.parts[0] for entry in entries}
    folders = sorted(path for path in root.iterdir() if path.is_dir() and not path.name.startswith((".", "__")))
    return [name for path in folders if (name := readable_name(path.name)) not in filled]


def _most_bytes(path: PurePosixPath) -> int:
    """How many bytes of a file are kept; 0 of one that only its name is needed of."""
    if path.suffix.lower() in NOTEBOOKS:
        return MAX_NOTEBOOK_BYTES
    return {METADATA: MOST_LIST_BYTES, TIMESTAMP: MOST_TIME_BYTES}.get(path.name, 0)


def _is_skipped(entry: Entry, root: Path, skipped: Sequence[Path]) -> bool:
    if not skipped or not root.is_dir():
        return False
    path = Path(os.path.realpath(root / entry.path))
    return any(path == other or other in path.parents for other in skipped)


def _without_wrapper(entries: list[Entry]) -> list[Entry]:
    """Paths without the one folder that everything in a zip lies in, where it holds a class and not one student's work.

    It is a class when the same file lies in several folders below it.
    """
    notebooks = [entry.path.parts for entry in entries if entry.path.suffix.lower() in NOTEBOOKS]
    folders: dict[str, set[str]] = {}
    for parts in notebooks:
        if len(parts) > 2:
            folders.setdefault(parts[-1], set()).add(parts[1])
    if len({entry.path.parts[0] for entry in entries}) != 1 or not any(len(names) > 1 for names in folders.values()):
        return entries
    return [replace(entry, path=PurePosixPath(*entry.path.parts[1:])) for entry in entries if len(entry.path.parts) > 1]


def _sort_out(entries: list[Entry], lessons: Sequence[str], alone: str) -> Collected:
    is_plain = _is_plain(entries)
    people = submitters([entry for entry in entries if _is_platforms_list(entry, is_plain)])
    times = {entry.path.parent: written_time(entry.data.decode("utf-8", "replace"))
             for entry in entries if entry.path.name == TIMESTAMP}  # fmt: skip
    owned = [
        (entry, *_owner(entry, people, lessons, alone, is_plain))
        for entry in entries
        if entry.path.name not in (METADATA, TIMESTAMP) and not _is_loose_other(entry)
    ]
    ids = told_apart(owner for _, owner, _ in owned)
    students: dict[str, Student] = {}
    hand_ins: list[HandIn] = []
    others: dict[str, list[str]] = {}
    for entry, owner, when in owned:
        student = ids.get(owner, owner.student)
        students.setdefault(student, Student(student, owner.name, owner.platform_id))
        if entry.path.suffix.lower() in NOTEBOOKS or entry.problem:
            received = when or owner.when or times.get(entry.path.parent) or entry.when
            hand_ins.append(
                HandIn(
                    student,
                    _plain_name(owner.file),
                    str(entry.path),
                    entry.data,
                    received,
                    owner.is_late,
                    entry.problem,
                )
            )
        else:
            others.setdefault(student, []).append(entry.path.name)
    _add_teams(people, students)
    hand_ins.sort(key=lambda one: (one.student, one.received, one.place))
    hand_ins = _newest(hand_ins)
    return Collected(students, tuple(hand_ins), _without(others, students, {one.student for one in hand_ins}))


def _without(others: Mapping[str, list[str]], students: Mapping[str, Student], handed_in: set[str]) -> dict[str, str]:
    """Student → what lies there instead of a notebook; nothing is missing of one whose team handed in."""
    teams = {students[student].team for student in handed_in} - {""}
    return {
        student: f"no notebook, only {', '.join(sorted(names)[:3])}"
        for student, names in others.items()
        if student not in handed_in and students[student].team not in teams
    }


def _newest(hand_ins: Sequence[HandIn]) -> list[HandIn]:
    """The hand-ins without what a student handed in beyond the newest that are read; the first of those left out says so.

    Args:
        hand_ins: sorted by student and time.
    """
    kept: list[HandIn] = []
    for student, group in groupby(hand_ins, key=lambda one: one.student):
        of_student = list(group)
        if (n_left_out := len(of_student) - MOST_HAND_INS) > 0:
            problem = f"{len(of_student)} notebooks of {student}, more than the {MOST_HAND_INS} newest that are read"
            kept.append(replace(of_student[n_left_out - 1], data=b"", problem=problem))
        kept += of_student[max(0, n_left_out) :]
    return kept


def _is_platforms_list(entry: Entry, is_plain: bool) -> bool:
    """Gradescope's list of its submissions, and no file of that name that a student handed in."""
    is_inside = len(entry.path.parts) > 1
    return entry.path.name == METADATA and not (is_inside and (is_plain or is_named(entry.path)))


def _plain_name(file: str) -> str:
    """The file's name with its ending in small letters: what reads notebooks goes by it."""
    path = PurePosixPath(file)
    return path.stem + path.suffix.lower()


def _is_loose_other(entry: Entry) -> bool:
    """A file right at the top that is no notebook: the instructor's list or a platform's page, nobody's hand-in."""
    return len(entry.path.parts) == 1 and entry.path.suffix.lower() not in NOTEBOOKS and not entry.problem


def _is_plain(entries: list[Entry]) -> bool:
    """A folder for each student: some folder holds notebooks, and nothing in it is named by a platform."""
    named: dict[str, bool] = {}
    for entry in entries:
        if len(entry.path.parts) > 1 and entry.path.suffix.lower() in NOTEBOOKS:
            top = entry.path.parts[0]
            named[top] = named.get(top, False) or is_named(entry.path)
    return not all(named.values())


def _owner(entry: Entry, people, lessons: Sequence[str], alone: str, is_plain: bool) -> tuple[Owner, datetime | None]:
    """Whose the entry is; a Gradescope submission belongs to the first of those it names.

    In a student's own folder nothing speaks for another; nbgrader's `inbound` is no student's.
    """
    owner = owner_of(entry.path, lessons, alone, 99 if not is_plain else int(entry.path.parts[0] == "inbound"))
    if not GRADESCOPE.search(str(entry.path)) or owner.student not in people:
        return owner, None
    owners, when = people[owner.student]
    return (replace(owners[0], file=owner.file) if owners else owner), when


def _add_teams(people, students: dict[str, Student]) -> None:
    """Everyone that a Gradescope submission names, with the submission as their team where there are several."""
    for submission, (owners, _) in people.items():
        if len(owners) > 1 and owners[0].student in students:
            for owner in owners:
                students[owner.student] = Student(owner.student, owner.name, owner.platform_id, submission)
