"""`edit ID`: the answer's CUDA in `$EDITOR` as a .cu, put back into the lesson when the editor closes."""

from __future__ import annotations

import argparse
from pathlib import Path

from grader.commands.checking import find_exercise
from grader.commands.status import Refusal, Status
from grader.console import Output
from grader.lesson_file import LessonProblem, lesson_path
from grader.progress import course_folder, lessons_folder

__all__ = ["add", "run"]


def add(commands: argparse._SubParsersAction) -> None:
    """The command's arguments."""
    parser = commands.add_parser("edit", help="open an answer's CUDA in $EDITOR and put it back")
    parser.add_argument("exercise", metavar="ID")
    parser.add_argument("--file", metavar="LESSON.py", help="another file than the lesson of this course")
    parser.add_argument("--json", action="store_true", help="one JSON object a line on standard output")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, out: Output) -> Status:
    """Edits one answer; a file that changed meanwhile is not overwritten."""
    from grader.answers import answer_names
    from grader.edit import EditProblem, edit_text, editor_command

    exercise = find_exercise(arguments.exercise)
    name = answer_names(exercise).source
    if not name:
        raise Refusal(f"the answer of {exercise.id} is no CUDA text", "edit its cell in the notebook")
    try:
        path = Path(arguments.file) if arguments.file else lesson_path(lessons_folder(), exercise.lesson)
        scratch = course_folder() / ".course" / "edit" / f"{exercise.id}.cu"
        changed = edit_text(path, name, scratch, editor_command())
    except (LessonProblem, EditProblem) as problem:
        raise Refusal(str(problem), getattr(problem, "help", "")) from problem
    out.emit({"exercise_id": exercise.id, "file": str(path), "changed": changed})
    out.say(
        f"{path}: {'changed' if changed else 'unchanged'}" + (f"; `check {path}` gives the verdict" if changed else "")
    )
    return Status.PASSED
