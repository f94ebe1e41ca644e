"""`try ID KERNEL.cu` and `try --case DIR`: one kernel text against one exercise, without a notebook."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from grader.commands.checking import add_device_option, context_of, find_exercise, judge, opened_device, show
from grader.commands.status import Refusal, Status, status_of
from grader.console import Output
from grader.model import Exercise, KernelAnswer, LaunchAnswer, Submission, Unreadable, ValueAnswer

__all__ = ["add", "run"]


def add(commands: argparse._SubParsersAction) -> None:
    """The command's arguments."""
    parser = commands.add_parser("try", help="check one .cu file against an exercise")
    parser.add_argument("exercise", nargs="?", metavar="ID")
    parser.add_argument("kernel", nargs="?", metavar="KERNEL.cu", help="CUDA text; - reads standard input")
    parser.add_argument("--launch", metavar="LAUNCH.json", help="launch literal; the exercise's own without it")
    parser.add_argument(
        "--case", metavar="DIR", help="a folder with case.json and kernel.cu instead of ID and KERNEL.cu"
    )
    parser.add_argument("--fixed", action="store_true", help="with --case: the repaired form that the case describes")
    add_device_option(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, out: Output) -> Status:
    """Judges the kernel like an answer in a notebook."""
    if arguments.case:
        return _run_case(arguments, out)
    if not arguments.exercise or (not arguments.kernel and not arguments.launch):
        raise Refusal("`try` needs an exercise and a kernel", "try ID KERNEL.cu [--launch LAUNCH.json], or --case DIR")
    exercise = find_exercise(arguments.exercise)
    answer = _answer(exercise, arguments.kernel, arguments.launch)
    with opened_device(arguments.device) as device, out.working(f"checking {exercise.id}"):
        report = judge(answer, device)
    show(report, context_of(exercise, answer), out)
    return status_of([report])


def _answer(exercise: Exercise, kernel: str | None, launch: str | None) -> Submission | Unreadable:
    from grader.answers import submit

    literal = _json(launch) if launch else None
    match exercise.answer:
        case KernelAnswer():
            if not kernel:
                raise Refusal(f"{exercise.id} takes a kernel", "give the path of its .cu file")
            return submit(exercise, _text(kernel), literal, origin=(kernel, 1))
        case LaunchAnswer():
            return submit(exercise, "", literal)
        case ValueAnswer():
            return submit(exercise, "", None, literal)
    raise TypeError(f"{exercise.id}: {exercise.answer!r}")


def _text(path: str) -> str:
    import sys

    try:
        return sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise Refusal(
            f"{path} cannot be read: {reason}", f"give the path of a text file, as seen from {Path.cwd()}"
        ) from error


def _json(path: str) -> object:
    from grader.notebook.jupyter_file import without_duplicates

    try:
        return json.loads(_text(path), object_pairs_hook=without_duplicates)
    except (ValueError, RecursionError) as error:
        raise Refusal(f"{path} is no launch in JSON: {error}", 'a launch is {"grid": …, "block": …}') from error


def _run_case(arguments: argparse.Namespace, out: Output) -> Status:
    """An exercise of its own made from a case folder; with a path, that kernel instead of the folder's."""
    from grader.case_runs import grade_case
    from grader.cases import CaseProblem, load_case, read_case

    folder = Path(arguments.case)
    named = arguments.kernel or arguments.exercise
    kernel = Path(named) if named else None
    try:
        case = read_case(folder)
        exercise, answer = load_case(folder, kernel, fixed=arguments.fixed)
        with opened_device(arguments.device) as device, out.working(f"checking {folder.name}"):
            report = grade_case(case, device, fixed=arguments.fixed, kernel=kernel)
    except CaseProblem as problem:
        raise Refusal(str(problem), "a case is a folder with case.json and kernel.cu") from problem
    show(report, context_of(exercise, answer), out, str(folder))
    return status_of([report])
