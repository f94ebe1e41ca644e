"""`hint ID`: the next hint, in three steps from a question to nearly the answer."""

from __future__ import annotations

import argparse

from grader.commands.checking import find_exercise
from grader.commands.status import Refusal, Status
from grader.console import Output
from grader.progress import ProgressFile

__all__ = ["add", "run"]


def add(commands: argparse._SubParsersAction) -> None:
    """The command's arguments."""
    parser = commands.add_parser("hint", help="the next hint for an exercise")
    parser.add_argument("exercise", metavar="ID")
    parser.add_argument("--json", action="store_true", help="one JSON object a line on standard output")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, out: Output) -> Status:
    """Shows one more hint; after the last one, all of them again."""
    exercise = find_exercise(arguments.exercise)
    total = len(exercise.hints)
    if not total:
        raise Refusal(f"{exercise.id} has no hints", "its statement says everything")
    file = ProgressFile()
    seen = file.read().hints.get(exercise.id, 0)
    number = file.read_hint(exercise.id, total)
    first = 1 if seen >= total else number
    for step in range(first, number + 1):
        out.emit({"exercise_id": exercise.id, "hint": step, "of": total, "text": exercise.hints[step - 1]})
        if not out.json_lines:
            out.say(f"hint {step} of {total}: {exercise.hints[step - 1]}")
    if number == total and not out.json_lines:
        out.say(f"that was the last one; `solution {exercise.id}` shows the reference once every goal is met")
    return Status.PASSED
