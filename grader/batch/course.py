"""What a run grades against: exercises with their frozen thresholds, hidden seeds, device, and the key that follows."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath

from grader.class_file import ClassFile, no_class, read_class
from grader.hidden import HiddenCases, load_hidden
from grader.model import Exercise, Unreadable
from grader.packs import fingerprint, known_exercises
from grader.pipeline import versions
from grader.stores.sql_store import SqlStore
from grader.thresholds import thresholds_of, with_thresholds

__all__ = ["Course", "class_of_store", "find_class", "freeze_today", "frozen_rows", "open_course"]

NAME = "class.toml"


@dataclass(frozen=True, slots=True)
class Course:
    """Everything that a verdict of this run depends on, besides the answer.

    Attributes:
        rows: exercise id → row, held to the frozen thresholds.
        prints: exercise id → fingerprint of the row as it stands in the course today.
        frozen: exercise id → (digest, data) of the thresholds.
    """

    class_file: ClassFile
    rows: Mapping[str, Exercise]
    prints: Mapping[str, str]
    frozen: Mapping[str, tuple[str, dict]]
    hidden: HiddenCases
    device: str
    versions: Mapping[str, str]

    @property
    def reader(self) -> str:
        """Equal when reading a notebook again would give the same answers."""
        wanted = self.class_file.exercises
        parts = [
            sorted(self.prints.items()),
            wanted,
            sorted(self.class_file.variables.items()),
            self.versions["grader"],
        ]
        return _digest(parts)

    def wanted(self) -> tuple[Exercise, ...] | None:
        """What a notebook may answer; None for the exercises of the lesson that it is."""
        ids = self.class_file.exercises or ((*self.rows,) if self.class_file.packs else ())
        return tuple(self.rows[name] for name in ids) if ids else None

    def expected_in(self, file: str) -> tuple[str, ...]:
        """Ids of what a file should answer, by its name alone where the class lists nothing."""
        listed = self.wanted()
        rows = listed or [row for row in self.rows.values() if row.lesson == PurePath(file).stem]
        return tuple(row.id for row in rows)

    def key(self, exercise_id: str, answer: str) -> str:
        """The key of the verdict on the answer with this digest."""
        held = self.frozen[exercise_id][0]
        facts = [self.prints[exercise_id], held, self.hidden.id, self.device, sorted(self.versions.items())]
        return _digest([exercise_id, answer, facts])

    def key_of_unreadable(self, problem: Unreadable) -> str:
        """The key of the verdict on an answer that cannot be read."""
        return self.key(problem.exercise_id, _digest([problem.message, problem.help, problem.file, problem.lines]))


def _digest(parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def find_class(given: str | None, folder: Path) -> ClassFile:
    """The class.toml that was named, or the one in the graded folder, or none.

    Raises:
        ClassProblem: it cannot be read or used.
    """
    from grader.class_file import ClassProblem

    path = Path(given) if given else folder / NAME
    if not given and not os.path.isfile(path):
        return no_class()
    try:
        # Notepad begins UTF-8 with a mark that TOML does not know.
        return read_class(path.read_text(encoding="utf-8-sig"), path.resolve().parent, known_exercises, str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise ClassProblem(f"{path} cannot be read: {error}", "give a text file in UTF-8 with --class") from error


def class_of_store(store: SqlStore) -> ClassFile:
    """The class that the newest run was graded by."""
    text, folder = store.class_file()
    return read_class(text, Path(folder), known_exercises, "the class.toml of the newest run") if text else no_class()


def frozen_rows(store: SqlStore, class_file: ClassFile) -> dict[str, Exercise]:
    """Every exercise, held to what this store froze; to what it asks for today where nothing is frozen."""
    frozen = store.frozen()
    rows = {row.id: row for row in known_exercises(class_file.packs)}
    return {name: with_thresholds(row, frozen[name][1]) if name in frozen else row for name, row in rows.items()}


def freeze_today(store: SqlStore, class_file: ClassFile) -> list[str]:
    """Freezes what every exercise asks for today; returns the ids of those that asked for something else before."""
    before = store.frozen()
    changed = []
    for row in known_exercises(class_file.packs):
        digest, data = thresholds_of(row)
        if before.get(row.id, ("",))[0] != digest:
            store.freeze(row.id, digest, data, renew=True)
            changed.append(row.id)
    return changed


def open_course(store: SqlStore, class_file: ClassFile, device: str) -> Course:
    """The course as this store holds it; exercises that were not frozen yet are, now.

    Raises:
        SeedsProblem, PackProblem: the hidden seeds or a pack cannot be used.
    """
    today = {row.id: row for row in known_exercises(class_file.packs)}
    frozen = store.frozen()
    for exercise_id, row in today.items():
        if exercise_id not in frozen:
            digest, data = thresholds_of(row)
            store.freeze(exercise_id, digest, data)
    frozen = store.frozen()
    return Course(
        class_file=class_file,
        rows=frozen_rows(store, class_file),
        prints={name: fingerprint(row) for name, row in today.items()},
        frozen={name: frozen[name] for name in today},
        hidden=load_hidden(),
        device=device,
        versions=versions(),
    )
