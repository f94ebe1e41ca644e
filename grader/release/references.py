"""Reference answers out of `solutions/`, as a student would have written them."""

from __future__ import annotations

from pathlib import Path

from grader.answers import answer_names
from grader.lesson_file import LessonProblem, find_literals, lesson_path, read_lesson
from grader.model import Exercise
from grader.notebook.source import canonical
from grader.release.clearing import solved

__all__ = ["all_references", "reference_of"]


def reference_of(folder: Path, exercise: Exercise) -> dict[str, str]:
    """Variable → reference as its cell has it: CUDA text for a kernel, a Python literal otherwise.

    Raises:
        LessonProblem: no such solution, or it does not answer the exercise.
    """
    literals = find_literals(read_lesson(lesson_path(folder, exercise.lesson)), answer_names(exercise))
    return {
        name: solved(canonical(literal.value)).strip("\n") if isinstance(literal.value, str) else solved(literal.text)
        for name, literal in literals.items()
    }


def all_references(folder: Path) -> dict[str, dict[str, str]]:
    """Exercise id → reference, for every exercise that `folder` has a solution of."""
    from grader.exercises import all_exercises

    found = {}
    for exercise in all_exercises():
        if list(folder.glob(f"{exercise.lesson}.py")):
            try:
                found[exercise.id] = reference_of(folder, exercise)
            except LessonProblem as problem:
                raise LessonProblem(f"{exercise.id}: {problem}") from problem
    return found
