"""`solution ID`: the reference, once every goal is met, or on request after the score was frozen."""

from __future__ import annotations

import argparse
from pathlib import Path

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
    parser.add_argument("--key", metavar="KEY", help="the instructor's key, in a bundle that it locks")
    parser.add_argument("--json", action="store_true", help="one JSON object a line on standard output")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, out: Output) -> Status:
    """Shows the reference where it is unlocked; else says what unlocks it."""
    exercise = find_exercise(arguments.exercise)
    file = ProgressFile()
    where = standing(file.read(), exercise.id)
    parts = reference_answer(exercise, arguments.key)
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


def reference_answer(exercise: Exercise, key: str | None = None) -> dict[str, str]:
    """Variable → reference as its cell has it, from `solutions/` or, in a student bundle, from what is locked there.

    Raises:
        Refusal: this copy of the course came without solutions, or they are shut.
    """
    from grader.release.locked import LOCKED
    from grader.release.references import reference_of

    folder, shut = course_folder() / "solutions", course_folder() / LOCKED
    if folder.is_dir():
        try:
            return reference_of(folder, exercise)
        except LessonProblem as problem:
            raise Refusal(str(problem), status=Status.INTERNAL) from problem
    if shut.is_file():
        return _unlocked(shut, exercise, key)
    raise Refusal(
        "this copy of the course has no solutions in it",
        "ask your instructor, or look at the public repository of the course",
        Status.NOT_SUPPORTED,
    )


def _unlocked(shut: Path, exercise: Exercise, key: str | None) -> dict[str, str]:
    from datetime import date

    from grader.release.locked import Locked, WrongKey, open_reference

    try:
        return open_reference(shut, exercise.id, key, date.today())
    except ModuleNotFoundError as missing:
        help = "`pip install -r requirements.txt` brings it"
        raise Refusal(f"opening it needs the package {missing.name}", help, Status.NOT_SUPPORTED) from missing
    except Locked as locked:
        help = f"`solution {exercise.id} --key KEY`"
        raise Refusal(f"the reference of {exercise.id} is locked: {locked}", help, Status.NOT_PASSED) from locked
    except WrongKey as wrong:
        raise Refusal(str(wrong), "ask your instructor for the key of this bundle") from wrong
    except LookupError as absent:
        raise Refusal(str(absent), "ask your instructor", Status.NOT_SUPPORTED) from absent


def _why(state: str) -> str:
    return {"untouched": "nothing was tried yet", "tried": "no answer passed yet", "right": "a goal is still open"}[
        state
    ]


def _show(exercise: Exercise, parts: dict[str, str], out: Output) -> None:
    import sys

    if out.json_lines:
        out.emit({"exercise_id": exercise.id, "reference": parts})
        return
    out.say(f"the reference of {exercise.id}:")
    # The text itself goes to standard output, so that it can be piped into a file or a pager, whatever letters that takes.
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")
    for name, text in parts.items():
        sys.stdout.write((f"{text}\n") if name.endswith("_src") else f"{name} = {text}\n")
