"""A student's lesson and a newer release of it in one file: the new text with every answer that was given.

An answer that is still the starter of the release the student had is none, so the new starter takes its place. Where
the new lesson has no room for an answer it is kept in a cell of its own at the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from grader.lesson_file import replace_literals
from grader.release.marimo_form import Cell, emit, parse
from grader.release.starters import answers_by_exercise

__all__ = ["Merged", "merge"]


@dataclass(frozen=True, slots=True)
class Merged:
    """The merged text; exercises whose answer was carried over, and those kept at the end for want of a place."""

    text: str
    carried: tuple[str, ...]
    kept_aside: tuple[str, ...]


def merge(old: str, new: str, old_starters: Mapping[str, Mapping[str, str]]) -> Merged:
    """The new lesson with the old one's answers.

    Args:
        old: the student's file.
        new: the newer release of it.
        old_starters: exercise id → {variable: literal} that `old` began with; an unknown one counts as answered.

    Raises:
        ValueError: one of the files cannot be read as a lesson; nothing is guessed.
    """
    given, places = answers_by_exercise(old), answers_by_exercise(new)
    fitting: dict[str, str] = {}
    homeless: dict[str, dict[str, str]] = {}
    carried = []
    for exercise_id, answers in given.items():
        for name, text in answers.items():
            if text == old_starters.get(exercise_id, {}).get(name):
                continue
            if name in places.get(exercise_id, {}):
                if text != places[exercise_id][name]:
                    fitting[name] = text
                carried.append(exercise_id)
            else:
                homeless.setdefault(exercise_id, {})[name] = text
    text = replace_literals(new, fitting) if fitting else new
    if homeless:
        notebook = parse(text)
        text = emit(notebook.with_cells([*notebook.cells, *(_kept(*item) for item in homeless.items())]))
    return Merged(text, tuple(dict.fromkeys(carried)), tuple(homeless))


def _kept(exercise_id: str, answers: Mapping[str, str]) -> Cell:
    """A cell that holds an answer of an exercise that the new lesson does not have; marked so that nothing grades it."""
    lines = [f"# kept from an earlier release: {exercise_id}", *(f"{name} = {text}" for name, text in answers.items())]
    return Cell("_", "\n".join(lines))
