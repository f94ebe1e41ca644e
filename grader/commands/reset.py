"""`reset ID`: the starter again in the lesson; what stood there is kept in a dated file."""

from __future__ import annotations

import argparse
from datetime import datetime
from pathlib import Path

from grader.commands.checking import find_exercise
from grader.commands.status import Refusal, Status
from grader.console import Output
from grader.lesson_file import LessonProblem, find_literals, lesson_path, read_lesson, replace_literals
from grader.model import Exercise
from grader.progress import course_folder, lessons_folder
from grader.whole_file import write_whole

__all__ = ["add", "keep_old", "run"]


def add(commands: argparse._SubParsersAction) -> None:
    """The command's arguments."""
    parser = commands.add_parser("reset", help="put an exercise's starter back; the old text is kept")
    parser.add_argument("exercise", metavar="ID")
    parser.add_argument("--file", metavar="LESSON.py", help="another file than the lesson of this course")
    parser.add_argument("--json", action="store_true", help="one JSON object a line on standard output")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, out: Output) -> Status:
    """Replaces the answer's literals by the starter's; everything else in the file stays byte for byte."""
    from grader.answers import answer_names
    from grader.release.starters import starter_of

    exercise = find_exercise(arguments.exercise)
    names = tuple(answer_names(exercise))
    try:
        path = Path(arguments.file) if arguments.file else lesson_path(lessons_folder(), exercise.lesson)
        text = read_lesson(path)
        old = {name: literal.text for name, literal in find_literals(text, names).items()}
        starter = starter_of(exercise)
        changed = replace_literals(text, starter)
    except LessonProblem as problem:
        raise Refusal(str(problem), "put the answer's cell back as it was in the lesson, then try again") from problem
    if old == starter:
        out.emit({"exercise_id": exercise.id, "file": str(path), "kept": None})
        out.say(f"{exercise.id} already is the starter; nothing was changed")
        return Status.PASSED
    kept = keep_old(exercise, old)
    write_whole(path, changed)
    out.emit({"exercise_id": exercise.id, "file": str(path), "kept": str(kept)})
    out.say(f"{exercise.id} in {path} is the starter again; your text is kept in {kept}")
    return Status.PASSED


def keep_old(exercise: Exercise, old: dict[str, str]) -> Path:
    """Writes an answer to `.course/answers/ID/DATE.py`, never over another one."""
    folder = course_folder() / ".course" / "answers" / exercise.id
    folder.mkdir(parents=True, exist_ok=True)
    stamp = datetime.now().strftime("%Y-%m-%dT%H-%M-%S")
    body = "".join(f"{name} = {text}\n\n" for name, text in old.items())
    for number in range(1000):
        path = folder / f"{stamp}{f'-{number}' if number else ''}.py"
        try:
            with open(path, "x", encoding="utf-8") as sink:
                sink.write(body.rstrip("\n") + "\n")
            return path
        except FileExistsError:
            continue
    raise OSError(f"no free name in {folder}")
