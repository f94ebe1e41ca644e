"""`class.toml`: what a class is held to, in one file that goes into the store with every run.

name = "CUDA 101, autumn"
packs = ["pack"]                      # folders with an exercises.py of the instructor's own
unmeasured_speed = "pending"          # or "waive", or "estimate", which holds without this line: see below

[variables]                           # for notebooks without `# exercise:` lines: variable -> exercise
ex1 = "pack.saxpy"

[[assignments]]
name = "Thread mapping"
lesson = "01_thread_mapping"          # or exercises = ["thread_mapping.map1d", ...]
due = 2026-12-01T23:59:00+01:00
late_per_day = 0.1                    # share of the mark lost for each day begun
late_days = 3                         # nothing is accepted after these
canvas_id = "77123"                   # of Canvas's own assignment, where its name alone does not tell it

[weights]
"thread_mapping.map1d" = 2.0          # points of the class for a full mark; the exercise's own without a line

[students.ann]
name = "Åse, Ann"
extension_days = 2
canvas_id = "1234"                    # likewise moodle_id, gradescope_email

[groups]
"team 1" = ["ann", "bob"]             # one hand-in, a row for each

What `unmeasured_speed` says of points for speed, where no GPU has measured it: `estimate` counts what the simulator's
estimate decides and leaves out what it does not; `pending` keeps the points open until a host with a GPU grades the same
hand-ins; `waive` leaves them out, and the mark is scaled to the full one.
"""

from __future__ import annotations

import enum
import tomllib
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

from grader.model import Exercise
from grader.packs import PackProblem

__all__ = ["Assignment", "ClassFile", "ClassProblem", "Member", "Unmeasured", "no_class", "read_class"]

A_DATE = "2026-12-01T23:59:00+01:00"


class ClassProblem(ValueError):
    """A class.toml that cannot be used: which file and key, what stands there; `help` is the next step."""

    def __init__(self, message: str, help: str):
        super().__init__(message)
        self.help = help


class Unmeasured(enum.StrEnum):
    """What becomes of the points of a speed goal that no GPU measured."""

    ESTIMATE = "estimate"
    PENDING = "pending"
    WAIVE = "waive"


@dataclass(frozen=True, slots=True)
class Assignment:
    """Exercises due together.

    Attributes:
        late_per_day: share of the mark that each begun day after `due` costs, 0..1.
        late_days: days after which a hand-in counts nothing; None for no end.
        canvas_id: number of Canvas's own assignment, "" where its name is enough.
    """

    name: str
    exercises: tuple[str, ...]
    due: datetime | None = None
    late_per_day: float = 0.0
    late_days: int | None = None
    canvas_id: str = ""

    def days_late(self, received: datetime, extension_days: float) -> int:
        """Days begun since it was due; 0 in time."""
        if self.due is None:
            return 0
        late = received - self.due - timedelta(days=extension_days)
        return max(0, -(-late // timedelta(days=1)))

    def is_accepted(self, received: datetime, extension_days: float) -> bool:
        """False for a hand-in that came too late to count at all, so that an earlier one stands."""
        return self.late_days is None or self.days_late(received, extension_days) <= self.late_days

    def kept_share(self, received: datetime, extension_days: float) -> float:
        """The share of a mark that a hand-in of this time keeps: 1 in time, 0 when it came too late to count."""
        if not self.is_accepted(received, extension_days):
            return 0.0
        return max(0.0, 1.0 - self.late_per_day * self.days_late(received, extension_days))


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
    unmeasured_speed: Unmeasured = Unmeasured.ESTIMATE
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

    def strangers(self, known: Iterable[str]) -> list[str]:
        """Who stands in a group, but neither in [students] nor among the `known`: a mate, or a name that was mistyped."""
        named = {member for members in self.groups.values() for member in members}
        return sorted(named - set(self.students) - set(known))


def no_class() -> ClassFile:
    """What holds without a class.toml: every exercise that is handed in, its own points, no dates."""
    return ClassFile()


def read_class(
    text: str, folder: Path, known: Callable[[tuple[Path, ...]], tuple[Exercise, ...]], file: str = "class.toml"
) -> ClassFile:
    """The class that `text` describes.

    Args:
        text: TOML.
        folder: where relative paths start.
        known: packs' folders → every exercise of the course and of these packs.
        file: what messages call it.

    Raises:
        ClassProblem: a key, a value or an id is wrong; nothing is guessed.
    """
    try:
        return _class(text, folder, known)
    except ClassProblem as problem:
        raise ClassProblem(f"{file}: {problem}", problem.help) from problem


def _class(text: str, folder: Path, known: Callable[[tuple[Path, ...]], tuple[Exercise, ...]]) -> ClassFile:
    try:
        plain = tomllib.loads(unicodedata.normalize("NFC", text))  # as the names of hand-ins are
    except tomllib.TOMLDecodeError as error:
        raise ClassProblem(f"not TOML: {error}", "mend that line; a date is written like " + A_DATE) from error
    _only(plain, "name packs unmeasured_speed variables assignments weights students groups", "")
    packs, rows = _packs(plain, folder, known)
    ids = {row.id: row for row in rows}
    return ClassFile(
        name=_text(plain, "name", ""),
        text=text,
        folder=folder,
        packs=packs,
        unmeasured_speed=_policy(plain.get("unmeasured_speed", Unmeasured.ESTIMATE)),
        variables={name: _known(value, ids, f"variables.{name}") for name, value in _table(plain, "variables").items()},
        assignments=_assignments(_list(plain, "assignments", ""), rows),
        weights=_weights(_table(plain, "weights"), ids),
        students={name: _member(name, row) for name, row in _table(plain, "students").items()},
        groups=_groups(_table(plain, "groups")),
    )


def _packs(plain: Mapping, folder: Path, known: Callable) -> tuple[tuple[Path, ...], tuple[Exercise, ...]]:
    """Folders of the packs, and every exercise that there is with them."""
    names = _texts(plain, "packs", "", "the folder of a pack")
    packs = tuple((folder / name).resolve() for name in names)
    try:
        return packs, known(packs)
    except PackProblem as problem:
        raise ClassProblem(
            f"packs: {problem}", "name a folder with an exercises.py; `grader prove FOLDER` says whether it holds"
        ) from problem


def _weights(plain: Mapping[str, object], ids: Mapping[str, Exercise]) -> dict[str, float]:
    for name, value in plain.items():
        if isinstance(value, dict):
            inner = next(iter(value), "double_it")
            raise ClassProblem(f"weights.{name} is a table", f'an id stands in quotes as a whole: "{name}.{inner}" = 2')
    return {_known(name, ids, f"weights.{name}"): _number(value, f"weights.{name}") for name, value in plain.items()}


def _policy(value: object) -> Unmeasured:
    if value not in list(Unmeasured):
        raise ClassProblem(f"unmeasured_speed is {value!r}", f"it takes {', '.join(Unmeasured)}")
    return Unmeasured(str(value))


def _assignments(plain: list, rows: tuple[Exercise, ...]) -> tuple[Assignment, ...]:
    found = [_assignment(row, rows, number) for number, row in enumerate(plain, 1)]
    names: set[str] = set()
    asked: dict[str, str] = {}
    for one in found:
        if one.name in names:
            raise ClassProblem(f"assignments: two are called {one.name!r}", "give each a name of its own")
        names.add(one.name)
        for exercise_id in one.exercises:
            if exercise_id in asked:
                raise ClassProblem(
                    f"assignments: {exercise_id} is asked for twice, by {asked[exercise_id]!r} and {one.name!r}",
                    "leave it in one of them: it has one due date and counts once",
                )
            asked[exercise_id] = one.name
    return tuple(found)


def _assignment(plain: object, rows: tuple[Exercise, ...], number: int) -> Assignment:
    if not isinstance(plain, dict):
        raise ClassProblem(f"assignments holds {plain!r}", "it is a list of tables: write [[assignments]]")
    lesson = _text(plain, "lesson", "", f"assignment {number}: ")
    name = _text(plain, "name", lesson or f"Assignment {number}", f"assignment {number}: ")
    where = f"assignment {name!r}: "
    _only(plain, "name lesson exercises due late_per_day late_days canvas_id", where)
    ids = {row.id: row for row in rows}
    chosen = [_known(one, ids, where + "exercises") for one in _list(plain, "exercises", where)]
    lessons = sorted({row.lesson for row in rows})
    if lesson and lesson not in lessons:
        raise ClassProblem(f"{where}there is no lesson {lesson!r}", f"there are {', '.join(lessons)}")
    chosen = chosen or [row.id for row in rows if lesson and row.lesson == lesson]
    if not chosen:
        raise ClassProblem(f"{where}it has no exercises", "give lesson = or exercises =")
    per_day = _number(plain.get("late_per_day", 0.0), where + "late_per_day")
    if per_day > 1:
        raise ClassProblem(f"{where}late_per_day is {per_day:g}", "it is a share of the mark, 0 to 1: 10 % is 0.1")
    days = plain.get("late_days")
    if days is not None and (type(days) is not int or days < 0):
        raise ClassProblem(f"{where}late_days is {days!r}", "write a whole number of days, 0 or more")
    return Assignment(name, tuple(chosen), _due(where, plain), per_day, days, _identity(plain, "canvas_id", where))


def _due(where: str, plain: Mapping) -> datetime | None:
    """A date means its last minute; a time without a zone is this host's."""
    due = plain.get("due")
    if due is None:
        return None
    if isinstance(due, datetime):
        return due.astimezone(UTC)
    if isinstance(due, date):
        return datetime.combine(due, time(23, 59, 59)).astimezone(UTC)
    shown = f"{due}" if isinstance(due, time) else repr(due)
    raise ClassProblem(f"{where}due is {shown}", f"write a TOML date or time without quotes, such as {A_DATE}")


def _member(name: str, plain: object) -> Member:
    where = f"students.{name}"
    if not isinstance(plain, dict):
        raise ClassProblem(f"{where} is {plain!r}", f"it is a table: write [{where}]")
    _only(plain, "name extension_days canvas_id moodle_id gradescope_email", where + ": ")
    return Member(
        name=_text(plain, "name", "", where + "."),
        extension_days=_number(plain.get("extension_days", 0), where + ".extension_days"),
        canvas_id=_identity(plain, "canvas_id", where + "."),
        moodle_id=_identity(plain, "moodle_id", where + "."),
        gradescope_email=_text(plain, "gradescope_email", "", where + "."),
    )


def _groups(plain: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
    groups: dict[str, tuple[str, ...]] = {}
    seen: dict[str, str] = {}
    for name in plain:
        members = _texts(plain, name, "groups.", "a student's id")
        for member in members:
            if member in seen:
                both = f"groups.{seen[member]} and groups.{name}" if seen[member] != name else f"groups.{name} twice"
                raise ClassProblem(f"{member} is in {both}", "a student is in one group: take out one of the two")
            seen[member] = name
        groups[name] = members
    return groups


def _only(plain: Mapping, keys: str, where: str) -> None:
    if unknown := sorted(set(plain) - set(keys.split())):
        raise ClassProblem(f"{where}there is no key {unknown[0]!r}", f"it takes {', '.join(keys.split())}")


def _text(plain: Mapping, key: str, default: str, where: str = "") -> str:
    value = plain.get(key, default)
    if not isinstance(value, str):
        raise ClassProblem(f"{where}{key} is {value!r}", "it is text: put it between quotes")
    return value


def _identity(plain: Mapping, key: str, where: str) -> str:
    """A platform's number, with or without quotes."""
    value = plain.get(key, "")
    return str(value) if type(value) is int else _text(plain, key, "", where)


def _texts(plain: Mapping, key: str, where: str, what: str) -> tuple[str, ...]:
    values = _list(plain, key, where)
    if wrong := [value for value in values if not isinstance(value, str) or not value]:
        raise ClassProblem(f"{where}{key} holds {wrong[0]!r}", f"each is {what}, as text between quotes")
    return tuple(values)


def _list(plain: Mapping, key: str, where: str) -> list:
    value = plain.get(key, [])
    if not isinstance(value, list):
        raise ClassProblem(f"{where}{key} is {value!r}", "it is a list, between [ and ]")
    return value


def _table(plain: Mapping, key: str) -> Mapping:
    value = plain.get(key, {})
    if not isinstance(value, dict):
        raise ClassProblem(f"{key} is {value!r}", f"it is a table: write [{key}]")
    return value


def _number(value: object, where: str) -> float:
    if type(value) not in (int, float) or not 0 <= value < 1e9:  # type: ignore[operator]
        raise ClassProblem(f"{where} is {value!r}", "write a number that is not negative")
    return float(value)  # type: ignore[arg-type]


def _known(exercise_id: object, ids: Mapping[str, Exercise], where: str) -> str:
    import difflib

    if isinstance(exercise_id, str) and exercise_id in ids:
        return exercise_id
    near = difflib.get_close_matches(str(exercise_id), ids, n=3)
    raise ClassProblem(
        f"{where}: no exercise is called {exercise_id!r}",
        f"near ones: {', '.join(near)}"
        if near
        else 'an id looks like "hello.double_it"; those of a pack need it in `packs`',
    )
