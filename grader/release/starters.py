"""What each answer of the course starts as: for `reset`, and to tell an answer from an untouched starter.

They are derived from the lessons and travel with the package, since a lesson in use no longer holds them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from grader.lesson_file import LessonProblem, find_literals
from grader.model import Exercise
from grader.notebook.cells import marker_of
from grader.release.marimo_form import parse

__all__ = ["answers_by_exercise", "starter_digest", "starter_of", "starters", "starters_json", "starters_of"]

# The endings of the variables that hold answers; see `grader.answers.answer_names`.
ENDINGS = ("_src", "_launch", "_values")


def answers_by_exercise(notebook: str) -> dict[str, dict[str, str]]:
    """Exercise id → {variable: its literal as in the cell}, from the cells that `# exercise: ID` marks.

    Raises:
        grader.release.marimo_form.NotebookFormError: the notebook cannot be read.
        LessonProblem: an answer is assigned twice.
    """
    literals = find_literals(notebook)
    found: dict[str, dict[str, str]] = {}
    for cell in parse(notebook).cells:
        if exercise_id := marker_of(cell.code):
            names = [name for name in literals if name.endswith(ENDINGS) and f"{name} =" in cell.code]
            found[exercise_id] = {name: literals[name].text for name in names}
    return found


starters_of = answers_by_exercise


def starters_json(by_exercise: Mapping[str, Mapping[str, str]]) -> str:
    """The file's text: the same starters give the same bytes."""
    return json.dumps(by_exercise, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


@cache
def starters() -> dict[str, dict[str, str]]:
    """The starters that came with this copy of the course; empty before the first release was made."""
    try:
        return json.loads((files("grader") / "assets" / "starters.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}


def starter_of(exercise: Exercise) -> dict[str, str]:
    """Variable → starter of one exercise.

    Raises:
        LessonProblem: none came with this copy.
    """
    found = starters().get(exercise.id)
    if not found:
        raise LessonProblem(f"the starter of {exercise.id} did not come with this copy of the course")
    return found


@cache
def starter_digest(exercise_id: str) -> str:
    """The digest of an answer that nobody has touched; "" where no starter is known or it cannot be read."""
    import ast

    from grader.answers import answer_names, submit
    from grader.exercises import exercise as find
    from grader.model import Submission

    exercise = find(exercise_id)
    names = answer_names(exercise)
    try:
        values = {name: ast.literal_eval(text) for name, text in starter_of(exercise).items()}
    except (LessonProblem, ValueError, SyntaxError):
        return ""
    answer = submit(exercise, values.get(names.source, ""), values.get(names.launch), values.get(names.values))
    return answer.digest if isinstance(answer, Submission) else ""
