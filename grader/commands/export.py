"""`export --db URL --to FORMAT FILE`: the class's marks for a spreadsheet, a learning platform, or analysis."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from grader.commands.status import Refusal, Status
from grader.commands.storing import add_store_options, book_of, opened_store
from grader.console import Output

if TYPE_CHECKING:
    from grader.gradebook import Gradebook

__all__ = ["NAMES", "add", "run"]

NAMES = ("export",)
FORMATS = ("csv", "canvas", "moodle", "gradescope", "parquet")
MOST_NAMED = 3  # of the results that wait, in a refusal


def add(commands: argparse._SubParsersAction) -> None:
    """The command's arguments."""
    parser = commands.add_parser("export", help="write a class's marks for a spreadsheet or a learning platform")
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("--to", required=True, choices=FORMATS, help="format of the file")
    parser.add_argument("--student", metavar="ID", help="only this student")
    parser.add_argument(
        "--allow-pending",
        action="store_true",
        help="also where points for speed are open until a GPU measures it; what is open counts nothing yet",
    )
    add_store_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, out: Output) -> Status:
    """Writes the file whole or not at all."""
    from grader.exporters import export

    with opened_store(arguments.db) as store:
        book = book_of(store)
    if arguments.student:
        rows = tuple(row for row in book.rows if row.student == arguments.student)
        if not rows:
            raise Refusal(f"there is no student {arguments.student!r} in this class")
        book = replace(book, rows=rows)
    waiting = _waiting(book)
    if waiting and not arguments.allow_pending:
        raise Refusal(
            f"{_some(waiting)}: points for speed are pending, no GPU has measured it yet",
            f"on a host with a GPU: `grade --db {arguments.db} --device cuda`; or export what is sure, with --allow-pending",
        )
    target = Path(arguments.file)
    part = target.with_name(target.name + ".part")
    try:
        part.write_bytes(export(book, arguments.to))
        os.replace(part, target)
    except OSError as error:
        raise Refusal(f"{target} cannot be written: {error}", "give a file in a folder that can be written") from error
    out.emit({
        "file": str(target), "format": arguments.to, "students": len(book.rows), "exercises": len(book.exercises),
        "pending": len(waiting),
    })  # fmt: skip
    still_open = f"; of {len(waiting)} results, points for speed are still open" if waiting else ""
    out.say(f"{target}: {len(book.rows)} students, {len(book.exercises)} exercises{still_open}")
    return Status.PASSED


def _waiting(book: Gradebook) -> list[str]:
    """Whose speed in which exercise is still to be measured."""
    return [f"{row.student}: {entry.exercise_id}" for row in book.rows for entry in row.entries if entry.is_pending]


def _some(waiting: list[str]) -> str:
    more = f" and {len(waiting) - MOST_NAMED} more" if len(waiting) > MOST_NAMED else ""
    return ", ".join(waiting[:MOST_NAMED]) + more
