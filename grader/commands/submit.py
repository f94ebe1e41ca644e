"""`submit PATH`: the answers of a marimo lesson into the notebook that nbgrader released."""

from __future__ import annotations

import argparse
from pathlib import Path

from grader.commands.status import Refusal, Status
from grader.console import Output

__all__ = ["add", "run"]


def add(commands: argparse._SubParsersAction) -> None:
    """The command's arguments."""
    parser = commands.add_parser("submit", help="put a lesson's answers into the released nbgrader notebook")
    parser.add_argument("path", metavar="LESSON.py")
    parser.add_argument(
        "--into", metavar="NOTEBOOK.ipynb", help="the notebook; by default LESSON.ipynb here or in LESSON/"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a line on standard output")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, out: Output) -> Status:
    """Writes the notebook; says what is in it now, and what is not."""
    from grader.handing_in import HandInProblem, put_answers

    lesson = Path(arguments.path)
    if lesson.suffix != ".py" or not lesson.is_file():
        raise Refusal(f"{lesson} is no marimo lesson", "give the .py file that you worked in")
    notebook = Path(arguments.into) if arguments.into else _released(lesson)
    try:
        done = put_answers(lesson, notebook)
    except HandInProblem as problem:
        raise Refusal(str(problem), "both files are as they were") from problem
    out.emit(
        {
            "notebook": str(done.notebook), "kept": str(done.kept), "answered": list(done.answered),
            "unreadable": dict(done.unreadable), "missing": list(done.missing),
        }
    )  # fmt: skip
    out.say(f"{done.notebook} holds your answers to {', '.join(done.answered) or 'nothing'}; before: {done.kept}")
    for exercise_id, why in done.unreadable.items():
        out.say(f"{exercise_id} cannot be graded as it stands: {why}")
    for exercise_id in done.missing:
        out.say(f"{exercise_id} is not in {lesson.name}, so the notebook's own cell stays")
    out.say("hand it in with `nbgrader submit` or the assignment list; questions in text are answered there")
    return Status.PASSED if not done.unreadable and not done.missing else Status.NOT_PASSED


def _released(lesson: Path) -> Path:
    """The notebook of the lesson's name that was fetched."""
    name = f"{lesson.stem}.ipynb"
    places = [folder / inside for folder in (lesson.parent, Path.cwd()) for inside in (name, f"{lesson.stem}/{name}")]
    for place in places:
        if place.is_file():
            return place
    raise Refusal(
        f"{name} is neither beside the lesson nor here", "fetch the assignment first, or give --into NOTEBOOK.ipynb"
    )
