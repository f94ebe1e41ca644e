"""The hand-ins of a class: whose, which file, which bytes, when; and who handed in nothing that could be read."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path, PurePosixPath

from grader.collecting.entries import Entry, entries_of
from grader.collecting.layouts import GRADESCOPE, METADATA, TIMESTAMP, Owner, owner_of, submitters, written_time

__all__ = ["Collected", "CollectingProblem", "HandIn", "Student", "collect"]

NOTEBOOKS = (".py", ".ipynb")


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
    if not root.exists():
        raise CollectingProblem(f"there is no {root}")
    if not root.is_dir() and root.suffix.lower() != ".zip":
        raise CollectingProblem(f"{root} is neither a folder nor a zip")
    entries = [entry for entry in entries_of(root) if not _is_skipped(entry, root, skipped)]
    if root.suffix.lower() == ".zip":
        entries = _without_wrapper(entries)
    found = _sort_out(entries, lessons, root.stem if root.is_file() else root.resolve().name)
    for name in _empty_folders(root):
        if name not in found.students:
            found.students[name] = Student(name)
            found.without[name] = "an empty folder"
    if not found.hand_ins and not found.without:
        raise CollectingProblem(f"{root} holds no hand-in: no .py, .ipynb or zip in it")
    return found


def _empty_folders(root: Path) -> list[str]:
    """Names of folders right in `root` that hold no file at all."""
    if not root.is_dir():
        return []
    folders = sorted(path for path in root.iterdir() if path.is_dir() and not path.name.startswith((".", "__")))
    return [path.name for path in folders if not any(inside.is_file() for inside in path.rglob("*"))]


def _is_skipped(entry: Entry, root: Path, skipped: Sequence[Path]) -> bool:
    path = (root / entry.path).resolve() if root.is_dir() else None
    return path is not None and any(path == other or other in path.parents for other in skipped)


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
    people = submitters(entries)
    times = {entry.path.parent: written_time(entry.data.decode("utf-8", "replace"))
             for entry in entries if entry.path.name == TIMESTAMP}  # fmt: skip
    students: dict[str, Student] = {}
    hand_ins: list[HandIn] = []
    others: dict[str, list[str]] = {}
    for entry in entries:
        if entry.path.name in (METADATA, TIMESTAMP) or _is_loose_other(entry):
            continue
        owner, when = _owner(entry, people, lessons, alone)
        students.setdefault(owner.student, Student(owner.student, owner.name, owner.platform_id))
        if entry.path.suffix.lower() in NOTEBOOKS or entry.problem:
            received = when or owner.when or times.get(entry.path.parent) or entry.when
            hand_ins.append(
                HandIn(
                    owner.student,
                    _plain_name(owner.file),
                    str(entry.path),
                    entry.data,
                    received,
                    owner.is_late,
                    entry.problem,
                )
            )
        else:
            others.setdefault(owner.student, []).append(entry.path.name)
    _add_teams(people, students)
    hand_ins.sort(key=lambda one: (one.student, one.received, one.place))
    handed_in = {hand_in.student for hand_in in hand_ins}
    teams = {students[student].team for student in handed_in} - {""}
    without = {
        student: f"no notebook, only {', '.join(sorted(names)[:3])}"
        for student, names in others.items()
        if student not in handed_in and students[student].team not in teams
    }
    return Collected(students, tuple(hand_ins), without)


def _plain_name(file: str) -> str:
    """The file's name with its ending in small letters: what reads notebooks goes by it."""
    path = PurePosixPath(file)
    return path.stem + path.suffix.lower()


def _is_loose_other(entry: Entry) -> bool:
    """A file right at the top that is no notebook: the instructor's list or a platform's page, nobody's hand-in."""
    return len(entry.path.parts) == 1 and entry.path.suffix.lower() not in NOTEBOOKS and not entry.problem


def _owner(entry: Entry, people, lessons: Sequence[str], alone: str) -> tuple[Owner, datetime | None]:
    """Whose the entry is; a Gradescope submission belongs to the first of those it names."""
    owner = owner_of(entry.path, lessons, alone)
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
