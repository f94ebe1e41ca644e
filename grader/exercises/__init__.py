"""The exercises of the course, by id: one module per lesson, each a tuple of rows."""

from __future__ import annotations

import difflib
import importlib
from functools import cache

from grader.model import Exercise

__all__ = ["MODULES", "UnknownExercise", "all_exercises", "exercise"]

# Modules with a tuple EXERCISES, in the order of the course.
MODULES = ("selftest", "start_here", "thread_mapping", "tiling")


class UnknownExercise(LookupError):
    """No exercise has this id; the message names near ones."""

    def __init__(self, exercise_id: str, known: tuple[str, ...]):
        near = difflib.get_close_matches(exercise_id, known, n=3, cutoff=0.5)
        near = near or [known_id for known_id in known if known_id.split(".")[-1] == exercise_id.split(".")[-1]]
        hint = f"; did you mean {', '.join(near)}?" if near else f"; there are {', '.join(known)}"
        super().__init__(f"no exercise is called {exercise_id!r}{hint}")
        self.exercise_id, self.near = exercise_id, tuple(near)


@cache
def _table() -> dict[str, Exercise]:
    rows = [row for name in MODULES for row in importlib.import_module(f"grader.exercises.{name}").EXERCISES]
    return {row.id: row for row in rows}


def all_exercises() -> tuple[Exercise, ...]:
    """Every exercise in the order of the course."""
    return tuple(_table().values())


def exercise(exercise_id: str) -> Exercise:
    """The row called `exercise_id`.

    Raises:
        UnknownExercise: there is none.
    """
    try:
        return _table()[exercise_id]
    except KeyError:
        raise UnknownExercise(exercise_id, tuple(_table())) from None
