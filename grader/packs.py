"""Exercise packs: an instructor's own exercises, in a folder outside this repository.

    pack/
        exercises.py            a tuple EXERCISES, like a module of grader/exercises
        reference.py            whatever exercises.py imports from beside it stays private, too
        solutions/ID.cu         a right answer (.json for a launch or values)
        starters/ID.cu          what students begin with
        mutants/ID/NAME.cu      wrong answers, each caught under its name
        naive/ID.cu             right, but misses a goal; for exercises with goals

A pack is the instructor's code and is trusted like the course's own.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import sys
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path

from grader.model import Exercise

__all__ = ["PackProblem", "fingerprint", "known_exercises", "load_pack"]


class PackProblem(ValueError):
    """A pack that cannot be used: which folder, and what is wrong with it."""


def known_exercises(packs: Sequence[Path] = ()) -> tuple[Exercise, ...]:
    """Every exercise of the course, then those of the packs.

    Raises:
        PackProblem: a pack cannot be used, or an id is taken.
    """
    from grader.exercises import all_exercises

    rows = {row.id: row for row in all_exercises()}
    for folder in packs:
        for row in load_pack(folder):
            if row.id in rows:
                raise PackProblem(f"{folder}: the id {row.id} is taken")
            rows[row.id] = row
    return tuple(rows.values())


def load_pack(folder: Path) -> tuple[Exercise, ...]:
    """The exercises of one pack.

    Raises:
        PackProblem: no exercises.py, it fails, or it has no EXERCISES.
    """
    return _load(folder.resolve())


@cache
def _load(folder: Path) -> tuple[Exercise, ...]:
    path = folder / "exercises.py"
    if not path.is_file():
        raise PackProblem(f"{folder} is no exercise pack: there is no exercises.py in it")
    name = f"warpwise_pack_{hashlib.sha256(str(folder).encode()).hexdigest()[:12]}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(folder))
    try:
        spec.loader.exec_module(module)
        rows = tuple(module.EXERCISES)
    except Exception as error:
        raise PackProblem(f"{path} cannot be loaded: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(str(folder))
    if not rows or not all(isinstance(row, Exercise) for row in rows):
        raise PackProblem(f"{path}: EXERCISES is a tuple of grader.model.Exercise")
    return rows


def fingerprint(exercise: Exercise) -> str:
    """Changes with anything that a verdict on the exercise rests on: its row, and the files its functions stand in."""
    functions = [exercise.inputs, exercise.reference, *(fault.wrong_reference for fault in exercise.faults)]
    files = sorted({_file(function) for function in functions if function is not None})
    parts = [_plain(exercise), *(hashlib.sha256(Path(file).read_bytes()).hexdigest() for file in files)]
    return hashlib.sha256("|".join(parts).encode()).hexdigest()


def _plain(exercise: Exercise) -> str:
    """The row as text, with functions by name, since their addresses change from run to run."""
    values = [getattr(exercise, field.name) for field in fields(exercise)]
    return repr([_named(value) for value in values])


def _named(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return [type(value).__name__, *(_named(getattr(value, field.name)) for field in fields(value))]
    if isinstance(value, frozenset):
        return sorted(map(str, value))
    if isinstance(value, (tuple, list)):
        return [_named(item) for item in value]
    if isinstance(value, dict):
        return [(key, _named(item)) for key, item in value.items()]
    return getattr(value, "__qualname__", "function") if callable(value) else value


def _file(function: object) -> str:
    return inspect.getsourcefile(inspect.unwrap(getattr(function, "func", function))) or ""  # type: ignore[arg-type]
