"""`progress`: what is done, what is next, and where the file that remembers it lies."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict

from grader.commands.status import Status
from grader.console import Output
from grader.model import Exercise
from grader.progress import ProgressFile, Standing, standing

__all__ = ["add", "next_exercise", "run"]

_MARKS = {"done": ("✓", "green"), "right": ("◐", "yellow"), "tried": ("…", "default"), "untouched": (" ", "dim")}
_WORDS = {"done": "done", "right": "a goal is open", "tried": "tried", "untouched": ""}


def add(commands: argparse._SubParsersAction) -> None:
    """The command's arguments."""
    parser = commands.add_parser("progress", help="what is done and what is next")
    parser.add_argument("--json", action="store_true", help="one JSON object a line on standard output")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, out: Output) -> Status:
    """Lists every exercise of the course with its standing."""
    from grader.exercises import all_exercises

    file = ProgressFile()
    kept = file.read()
    course = [row for row in all_exercises() if row.lesson != "selftest"]
    standings = [standing(kept, row.id) for row in course]
    if file.kept_aside:
        out.say(f"note: {file.path.name} was damaged; it is kept as {file.kept_aside} and a new one is begun")
    for row, where in zip(course, standings, strict=True):
        out.emit({"exercise_id": row.id, "lesson": row.lesson, "title": row.title, "core": row.core} | asdict(where))
    if not out.json_lines:
        _show(course, standings, out)
        out.say(f"kept in {file.path}: copy this file to take your progress along")
    return Status.PASSED


def next_exercise(course: Sequence[Exercise], standings: Sequence[Standing]) -> Exercise | None:
    """The first exercise in the order of the course that is not done, core before stretch within a lesson."""
    open_rows = [row for row, where in zip(course, standings, strict=True) if where.state != "done"]
    if not open_rows:
        return None
    lesson = [row for row in open_rows if row.lesson == open_rows[0].lesson]
    return next((row for row in lesson if row.core), lesson[0])


def _show(course: Sequence[Exercise], standings: Sequence[Standing], out: Output) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("", "exercise", "title", "points", ""):
        table.add_column(heading, justify="right" if heading == "points" else "left")
    lesson = None
    for row, where in zip(course, standings, strict=True):
        if row.lesson != lesson:
            lesson = row.lesson
            table.add_row("", Text(lesson, style="bold"), "", "", "")
        sign, style = _MARKS[where.state]
        points = f"{where.score:g} of {where.max_score:g}" if where.attempts or where.frozen else ""
        words = [_WORDS[where.state]] + ([f"{where.hints} hints"] if where.hints else [])
        words += ["score frozen"] if where.frozen else []
        words += [] if row.core else ["stretch"]
        table.add_row(
            Text(sign, style=style), row.id, Text(row.title), points, Text(", ".join(filter(None, words)), style="dim")
        )
    out.say(table)
    done = sum(where.state == "done" for where in standings)
    out.say(f"{done} of {len(course)} done")
    following = next_exercise(course, standings)
    if following:
        out.say(f"next: {following.title} ({following.id}), about {following.minutes} minutes")
