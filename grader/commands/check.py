"""`check PATH…`: the answers in notebooks, read without running them, each judged like in its cell."""

from __future__ import annotations

import argparse
import errno
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from grader.commands.checking import add_device_option, context_of, find_exercise, judge, opened_device, show
from grader.commands.profiling import profiling_arch, show_profile
from grader.commands.status import Refusal, Status, status_of
from grader.console import Output
from grader.devices.base import Device
from grader.model import Exercise, Report, Submission, Verdict

__all__ = ["SUFFIXES", "add", "notebook_paths", "remember", "run"]

SUFFIXES = (".py", ".ipynb")
_SKIPPED_FOLDERS = {"__marimo__", "__pycache__", ".ipynb_checkpoints"}


def add(commands: argparse._SubParsersAction) -> None:
    """The command's arguments."""
    parser = commands.add_parser("check", help="check the answers in notebooks (.py or .ipynb) or folders of them")
    parser.add_argument("paths", nargs="+", metavar="PATH")
    parser.add_argument("--exercise", metavar="ID", help="only this exercise")
    add_device_option(parser)
    parser.add_argument(
        "--ncu", action="store_true", help="Nsight Compute's counters and compute-sanitizer's findings beside ours"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, out: Output) -> Status:
    """Checks every answer of every file; one file or answer that cannot be read costs no other.

    Several files may be several people's, so that each gets processes of its own.
    """
    only = find_exercise(arguments.exercise) if arguments.exercise else None
    files = [file for path in arguments.paths for file in notebook_paths(Path(path))]
    arch = profiling_arch() if arguments.ncu else ""
    unreadable, reports = 0, []
    fresh = len(files) > 1
    for file in files:
        with opened_device(arguments.device, fresh=fresh) as device:
            found = list(_check_file(file, only, device, fresh, out, arch))
        unreadable += not found
        reports += found
    if not reports and only is not None:
        raise Refusal(f"none of the files answers {only.id}", f"its lesson is {only.lesson}")
    _summary(reports, out)
    status = status_of(reports)
    return Status.USAGE if unreadable and status is not Status.INTERNAL else status


def notebook_paths(path: Path) -> list[Path]:
    """`path` itself, or the notebooks in a folder, sorted; `.new.py` and `.old.py` of an update are not answers."""
    if not path.exists():
        raise Refusal(f"there is no {path}", "give a .py or .ipynb file, or a folder of them")
    if not path.is_dir():
        return [path]
    if not os.access(path, os.R_OK | os.X_OK):
        raise Refusal(f"{path} cannot be read: {os.strerror(errno.EACCES)}", "ask whoever owns it for the right to")
    files = (Path(folder, name) for folder, _, names in os.walk(path) for name in names)
    found = sorted(
        file
        for file in files
        if file.suffix in SUFFIXES
        and not file.name.endswith((".new.py", ".old.py", "__init__.py"))
        and not _SKIPPED_FOLDERS & set(file.relative_to(path).parts)
    )
    if not found:
        raise Refusal(f"{path} holds no .py or .ipynb file", "give the folder of the lessons")
    return found


def _check_file(
    file: Path, only: Exercise | None, device: Device, fresh: bool, out: Output, arch: str = ""
) -> Iterator[Report]:
    """Reports on one file's answers; none when the file is no notebook, which is said.

    With `arch`, the GPU's, each kernel also goes under NVIDIA's tools.
    """
    from grader.exercises import exercise
    from grader.notebook import NotebookProblem, read_notebook

    try:
        notebook = read_notebook(file, (only,) if only else None)
    except NotebookProblem as problem:
        _refused(file, problem.message, problem.help, out, "" if str(file) in problem.message else f"{file}: ")
        return
    if not notebook.answers:
        why = _syntax_problem(file) or notebook.suspicious or "no exercise of the course is answered in this file"
        help = "give a lesson's .py or .ipynb; its answers stand under lines such as `# exercise: hello.double_it`"
        _refused(file, why, help, out, f"{file}: ")
        return
    for note in (notebook.suspicious, *notebook.notes):
        if note:
            out.say(f"note: {file}: {note}")
    for exercise_id, answer in notebook.answers.items():
        with out.working(f"checking {exercise_id}"):
            report = judge(answer, device, fresh=fresh)
        show(report, context_of(exercise(exercise_id), answer), out, str(file))
        if arch and isinstance(answer, Submission):
            show_profile(exercise(exercise_id), answer, report, arch, out)
        remember(report, file, out)
        yield report


def _refused(file: Path, why: str, help: str, out: Output, where: str = "") -> None:
    """Says that a file holds no answer that can be read."""
    out.error(where + why, help)
    out.emit({"file": str(file), "verdict": str(Verdict.UNREADABLE), "passed": False, "error": why, "next": help})


def _syntax_problem(file: Path) -> str:
    """Why a Python file does not parse, or ""."""
    from grader.notebook.cells import parse

    if file.suffix != ".py":
        return ""
    error = parse(file.read_text(encoding="utf-8", errors="replace"))[1]
    return f"line {error[0]} does not parse: {error[1]}" if error else ""


def remember(report: Report, file: Path, out: Output) -> None:
    """Keeps progress for the student's own lessons; another folder's answers and untouched starters are none.

    A folder that cannot be written hides no verdict: it is said, no more.
    """
    from grader.progress import ProgressFile, lessons_folder
    from grader.release.starters import starter_digest

    if lessons_folder() in file.resolve().parents and report.digest != starter_digest(report.exercise_id):
        try:
            ProgressFile().record(report)
        except OSError as error:
            out.say(f"note: progress is not kept: {error.filename or 'its file'}: {error.strerror or error}")


def _summary(reports: Sequence[Report], out: Output) -> None:
    """The last line, unless nothing was judged."""
    if not reports:
        return
    passed = sum(report.passed for report in reports)
    score, most = sum(report.score for report in reports), sum(report.max_score for report in reports)
    out.say(f"{passed} of {len(reports)} passed, {score:g} of {most:g} points")
