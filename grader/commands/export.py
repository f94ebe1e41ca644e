"""`export --db URL --to FORMAT FILE`: the class's marks for a spreadsheet, a learning platform, or analysis."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from pathlib import Path

from grader.commands.status import Refusal, Status
from grader.commands.storing import add_store_options, book_of, opened_store
from grader.console import Output

__all__ = ["NAMES", "add", "run"]

NAMES = ("export",)
FORMATS = ("csv", "canvas", "moodle", "gradescope", "parquet")


def add(commands: argparse._SubParsersAction) -> None:
    """The command's arguments."""
    parser = commands.add_parser("export", help="write a class's marks for a spreadsheet or a learning platform")
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("--to", required=True, choices=FORMATS, help="format of the file")
    parser.add_argument("--student", metavar="ID", help="only this student")
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
    target = Path(arguments.file)
    part = target.with_name(target.name + ".part")
    try:
        part.write_bytes(export(book, arguments.to))
        os.replace(part, target)
    except OSError as error:
        raise Refusal(f"{target} cannot be written: {error}", "give a file in a folder that can be written") from error
    out.emit(
        {"file": str(target), "format": arguments.to, "students": len(book.rows), "exercises": len(book.exercises)}
    )
    out.say(f"{target}: {len(book.rows)} students, {len(book.exercises)} exercises")
    return Status.PASSED
