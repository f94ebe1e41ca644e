"""`class.toml`: what a class is held to, in one file that goes into the store with every run.

name = "CUDA 101, autumn"
packs = ["pack"]                      # folders with an exercises.py of the instructor's own
unmeasured_speed = "waive"            # or "pending": points of a speed goal stay open until it was measured

[variables]                           # for notebooks without `# exercise:` lines: variable -> exercise
ex1 = "pack.saxpy"

[[assignments]]
name = "Thread mapping"
lesson = "01_thread_mapping"          # or exercises = ["thread_mapping.map1d", ...]
due = 2026-12-01T23:59:00+01:00
late_per_day = 0.1                    # share of the mark lost for each day begun
late_days = 3                         # nothing is accepted after these

[weights]
"thread_mapping.map1d" = 2.0          # points of the class for a full mark; the exercise's own without a line

[students.ann]
name = "Åse, Ann"
extension_days = 2
canvas_id = "1234"                    # likewise moodle_id, gradescope_email

[groups]
"team 1" = ["ann", "bob"]             # one hand-in, a row for each
"""

from __future__ import annotations

import enum
import tomllib
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

from grader.model import Exercise

__all__ = ["Assignment", "ClassFile", "ClassProblem", "Member", "Unmeasured", "no_class", "read_class"]


class ClassProblem(ValueError):
    """A class.toml that cannot be used: which key, what stands there, what is accepted."""


class Unmeasured(enum.StrEnum):
    """What becomes of a speed goal that could not be measured: its points are waived, or stay open as pending."""

    WAIVE = "waive"
    PENDING = "pending"


@dataclass(frozen=True, slots=True)
class Assignment:
    """Exercises due together.

    Attributes:
        late_per_day: share of the mark that each begun day after `due` costs, 0..1.
        late_days: days after which a hand-in counts nothing; None for no end.
    """

    name: str
    exercises: tuple[str, ...]
    due: datetime | None = None
    late_per_day: float = 0.0
    late_days: int | None = None

    def kept_share(self, received: datetime, extension_days: float) -> float:
        """The share of a mark that a hand-in of this time keeps: 1 in time, 0 when it came too late to count."""
        if self.due is None:
            return 1.0
        late = received - self.due - timedelta(days=extension_days)
        if late <= timedelta(0):
            return 1.0
        days = -(-late // timedelta(days=1))
        if self.late_days is not None and days > self.late_days:
            return 0.0
        return max(0.0, 1.0 - self.late_per_day * days)


@dataclass(frozen=True, slots=True)
class Member:
    """What class.toml says of one student."""

    name: str = ""
    extension_days: float = 0.0
    canvas_id: str = ""
    moodle_id: str = ""
    gradescope_email: str = ""


@dataclass(frozen=True, slots=True)
class ClassFile:
    """A class.toml; `text` is the file itself, `folder` where its relative paths start."""

    name: str = ""
    text: str = ""
    folder: Path = Path()
    packs: tuple[Path, ...] = ()
    unmeasured_speed: Unmeasured = Unmeasured.WAIVE
    variables: Mapping[str, str] = field(default_factory=dict)
    assignments: tuple[Assignment, ...] = ()
    weights: Mapping[str, float] = field(default_factory=dict)
    students: Mapping[str, Member] = field(default_factory=dict)
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def exercises(self) -> tuple[str, ...]:
        """Ids of what the class is graded on, in order; empty for whatever is handed in."""
        return tuple(dict.fromkeys(row for assignment in self.assignments for row in assignment.exercises))

    def assignment_of(self, exercise_id: str) -> Assignment | None:
        """The first assignment that asks for the exercise."""
        return next((row for row in self.assignments if exercise_id in row.exercises), None)


def no_class() -> ClassFile:
    """What holds without a class.toml: every exercise that is handed in, its own points, no dates."""
    return ClassFile()


def read_class(text: str, folder: Path, known: Callable[[tuple[Path, ...]], tuple[Exercise, ...]]) -> ClassFile:
    """The class that `text` describes.

    Args:
        text: TOML.
        folder: where relative paths start.
        known: packs' folders → every exercise of the course and of these packs.

    Raises:
        ClassProblem: a key, a value or an id is wrong; nothing is guessed.
    """
    try:
        plain = tomllib.loads(unicodedata.normalize("NFC", text))  # as the names of hand-ins are
    except tomllib.TOMLDecodeError as error:
        raise ClassProblem(f"not TOML: {error}") from error
    _only(plain, "name packs unmeasured_speed variables assignments weights students groups", "class.toml")
    packs = tuple((folder / str(path)).resolve() for path in _list(plain, "packs"))
    rows = known(packs)
    ids = {row.id: row for row in rows}
    assignments = tuple(_assignment(row, rows) for row in _list(plain, "assignments"))
    weights = {_known(name, ids): _number(f"weights.{name}", value) for name, value in _table(plain, "weights").items()}
    return ClassFile(
        name=str(plain.get("name", "")),
        text=text,
        folder=folder,
        packs=packs,
        unmeasured_speed=_policy(plain.get("unmeasured_speed", "waive")),
        variables={str(name): _known(value, ids) for name, value in _table(plain, "variables").items()},
        assignments=assignments,
        weights=weights,
        students={name: _member(name, row) for name, row in _table(plain, "students").items()},
        groups=_groups(_table(plain, "groups")),
    )


def _policy(value: object) -> Unmeasured:
    try:
        return Unmeasured(str(value))
    except ValueError:
        raise ClassProblem(f"unmeasured_speed is {value!r}; it takes {', '.join(Unmeasured)}") from None


def _assignment(plain: object, rows: tuple[Exercise, ...]) -> Assignment:
    if not isinstance(plain, dict):
        raise ClassProblem("assignments is a list of tables: write [[assignments]]")
    where = f"assignment {plain.get('name', '?')!r}"
    _only(plain, "name lesson exercises due late_per_day late_days", where)
    ids = {row.id: row for row in rows}
    lessons = {row.lesson for row in rows}
    chosen = [_known(name, ids) for name in _list(plain, "exercises")]
    if "lesson" in plain:
        if plain["lesson"] not in lessons:
            raise ClassProblem(f"{where}: no lesson {plain['lesson']!r}; there are {', '.join(sorted(lessons))}")
        chosen = chosen or [row.id for row in rows if row.lesson == plain["lesson"]]
    if not chosen:
        raise ClassProblem(f"{where} has no exercises: give lesson = or exercises =")
    per_day = _number(f"{where}: late_per_day", plain.get("late_per_day", 0.0))
    if per_day > 1:
        raise ClassProblem(f"{where}: late_per_day is {per_day:g}; it is a share of the mark, 0 to 1")
    days = plain.get("late_days")
    if days is not None and type(days) is not int:
        raise ClassProblem(f"{where}: late_days is {days!r}; write a whole number")
    return Assignment(str(plain.get("name", plain.get("lesson", ""))), tuple(chosen), _due(where, plain), per_day, days)


def _due(where: str, plain: Mapping) -> datetime | None:
    """A date means its last minute; a time without a zone is this host's."""
    due = plain.get("due")
    if due is None:
        return None
    if isinstance(due, datetime):
        return due.astimezone(UTC)
    if isinstance(due, date):
        return datetime.combine(due, time(23, 59, 59)).astimezone(UTC)
    raise ClassProblem(f"{where}: due is {due!r}; write a TOML date or time, such as 2026-12-01T23:59:00+01:00")


def _member(name: str, plain: object) -> Member:
    if not isinstance(plain, dict):
        raise ClassProblem(f"students.{name} is a table")
    _only(plain, "name extension_days canvas_id moodle_id gradescope_email", f"students.{name}")
    days = _number(f"students.{name}.extension_days", plain.get("extension_days", 0))
    words = {key: str(plain[key]) for key in ("name", "canvas_id", "moodle_id", "gradescope_email") if key in plain}
    return Member(extension_days=days, **words)


def _groups(plain: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
    groups: dict[str, tuple[str, ...]] = {}
    seen: dict[str, str] = {}
    for name, members in plain.items():
        if not isinstance(members, list) or not all(isinstance(member, str) for member in members):
            raise ClassProblem(f"groups.{name} is a list of students")
        for member in members:
            if member in seen:
                raise ClassProblem(f"{member} is in two groups: {seen[member]} and {name}")
            seen[member] = name
        groups[name] = tuple(members)
    return groups


def _only(plain: Mapping, keys: str, where: str) -> None:
    if unknown := sorted(set(plain) - set(keys.split())):
        raise ClassProblem(f"{where} has the key {unknown[0]!r}; it takes {', '.join(keys.split())}")


def _list(plain: Mapping, key: str) -> list:
    value = plain.get(key, [])
    if not isinstance(value, list):
        raise ClassProblem(f"{key} is a list, got {value!r}")
    return value


def _table(plain: Mapping, key: str) -> Mapping:
    value = plain.get(key, {})
    if not isinstance(value, dict):
        raise ClassProblem(f"{key} is a table: write [{key}]")
    return value


def _number(where: str, value: object) -> float:
    if type(value) not in (int, float) or not 0 <= value < 1e9:  # type: ignore[operator]
        raise ClassProblem(f"{where} is {value!r}; write a number that is not negative")
    return float(value)  # type: ignore[arg-type]


def _known(exercise_id: object, ids: Mapping[str, Exercise]) -> str:
    import difflib

    if exercise_id in ids:
        return str(exercise_id)
    near = difflib.get_close_matches(str(exercise_id), ids, n=3)
    raise ClassProblem(f"no exercise is called {exercise_id!r}; near ones: {', '.join(near) or 'none'}")
