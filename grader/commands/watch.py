"""`watch PATH`: checks an answer again each time its file is saved; only what changed is run."""

from __future__ import annotations

import argparse
from pathlib import Path

from grader.commands.check import SUFFIXES, notebook_paths, remember
from grader.commands.checking import add_device_option, context_of, judge, opened_device, show
from grader.commands.status import Refusal, Status
from grader.console import Output
from grader.devices.base import Device

__all__ = ["add", "run"]


def add(commands: argparse._SubParsersAction) -> None:
    """The command's arguments."""
    parser = commands.add_parser("watch", help="check again on every save")
    parser.add_argument("path", metavar="PATH")
    add_device_option(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, out: Output) -> Status:
    """Watches until Ctrl-C, with one warm device."""
    from grader.watch import changes

    path = Path(arguments.path)
    files = notebook_paths(path)
    if path.is_file() and path.suffix not in SUFFIXES:
        raise Refusal(
            f"{path} is neither a .py nor an .ipynb file", "watch the notebook itself, or the folder it lies in"
        )
    seen: dict[str, str] = {}
    out.say(f"watching {path} ({len(files)} file{'s' if len(files) != 1 else ''}); Ctrl-C ends it")
    try:
        with opened_device(arguments.device) as device:
            for changed in changes(lambda: notebook_paths(path) if path.exists() else files):
                for file in changed:
                    check_changed(file, seen, device, out)
    except KeyboardInterrupt:
        out.say("watching ended")
    return Status.PASSED


def check_changed(file: Path, seen: dict[str, str], device: Device, out: Output) -> None:
    """Judges the answers of `file` whose digest is not the one `seen` last; a half-saved file waits for the next save."""
    from grader.exercises import exercise
    from grader.model import Submission
    from grader.notebook import NotebookProblem, read_notebook

    try:
        answers = read_notebook(file).answers
    except NotebookProblem as problem:
        out.error(problem.message, problem.help)
        return
    for exercise_id, answer in answers.items():
        key = answer.digest if isinstance(answer, Submission) else answer.message
        if seen.get(f"{file}:{exercise_id}") == key:
            continue
        seen[f"{file}:{exercise_id}"] = key
        with out.working(f"checking {exercise_id}"):
            report = judge(answer, device)
        show(report, context_of(exercise(exercise_id), answer), out, str(file))
        remember(report, file, out)
