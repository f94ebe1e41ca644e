"""`solution ID`: the reference, once every goal is met, or on request after the score was frozen."""

from __future__ import annotations

import argparse

from grader.commands.checking import find_exercise
from grader.commands.status import Refusal, Status
from grader.console import Output
from grader.lesson_file import LessonProblem
from grader.model import Exercise
from grader.progress import ProgressFile, course_folder, standing

__all__ = ["add", "reference_answer", "run"]


def add(commands: argparse._SubParsersAction) -> None:
    """The command's arguments."""
    parser = commands.add_parser("solution", help="the reference answer, once every goal is met")
    parser.add_argument("exercise", metavar="ID")
    parser.add_argument("--freeze", action="store_true", help="give up further points for this exercise and see it now")
    parser.add_argument("--json", action="store_true", help="one JSON object a line on standard output")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, out: Output) -> Status:
    """Shows the reference where it is unlocked; else says what unlocks it."""
    exercise = find_exercise(arguments.exercise)
    file = ProgressFile()
    where = standing(file.read(), exercise.id)
    parts = reference_answer(exercise)
    if where.state != "done" and not where.frozen:
        if not arguments.freeze:
            raise Refusal(
                f"the reference of {exercise.id} is locked: {_why(where.state)}",
                f"meet every goal, or freeze your score where it stands: `solution {exercise.id} --freeze`",
                Status.NOT_PASSED,
            )
        frozen = file.freeze(exercise.id)
        out.say(f"frozen at {frozen.score:g} of {frozen.max_score:g} points; go on trying, this score stays")
    _show(exercise, parts, out)
    return Status.PASSED


def reference_answer(exercise: Exercise) -> dict[str, str]:
    """Variable → reference as its cell has it: CUDA text for a kernel, a Python literal otherwise.

    Raises:
        Refusal: this copy of the course came without solutions.
    """
    from grader.answers import answer_names
    from grader.lesson_file import find_literals, lesson_path, read_lesson
    from grader.notebook.source import canonical
    from grader.release.clearing import solved

    folder = course_folder() / "solutions"
    if not folder.is_dir():
        raise Refusal(
            "this copy of the course has no solutions in it",
            "ask your instructor, or look at the public repository of the course",
            Status.NOT_SUPPORTED,
        )
    try:
        literals = find_literals(read_lesson(lesson_path(folder, exercise.lesson)), answer_names(exercise))
    except LessonProblem as problem:
        raise Refusal(str(problem), status=Status.INTERNAL) from problem
    values = {name: literal.value for name, literal in literals.items()}
    return {
        name: solved(canonical(value)).strip("\n") if isinstance(value, str) else solved(literals[name].text)
        for name, value in values.items()
    }


def _why(state: str) -> str:
    return {"untouched": "nothing was tried yet", "tried": "no answer passed yet", "right": "a goal is still open"}[state]


def _show(exercise: Exercise, parts: dict[str, str], out: Output) -> None:
    import sys

    if out.json_lines:
        out.emit({"exercise_id": exercise.id, "reference": parts})
        return
    out.say(f"the reference of {exercise.id}:")
    # The text itself goes to standard output, so that it can be piped into a file or a pager.
    for name, text in parts.items():
        sys.stdout.write((f"{text}\n") if name.endswith("_src") else f"{name} = {text}\n")
