"""`mark STUDENT EXERCISE --db URL`: a score or a comment given by a person, which every regrade keeps."""

from __future__ import annotations

import argparse
import math
from datetime import UTC, datetime

from grader.commands.status import Refusal, Status
from grader.commands.storing import add_store_options, book_of, opened_store
from grader.console import Output

__all__ = ["NAMES", "add", "run"]

NAMES = ("mark",)


def add(commands: argparse._SubParsersAction) -> None:
    """The command's arguments."""
    parser = commands.add_parser("mark", help="give a score or a comment by hand; a regrade keeps it")
    parser.add_argument("student", metavar="STUDENT")
    parser.add_argument("exercise", metavar="ID")
    parser.add_argument("--score", metavar="POINTS", help="in place of the grader's; `none` gives that back its place")
    parser.add_argument("--comment", metavar="TEXT", help="shown beside the score in every export")
    parser.add_argument("--author", default="", metavar="NAME", help="who gives it")
    add_store_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, out: Output) -> Status:
    """Keeps the mark; what is not given stays as the mark before had it."""
    from grader.stores import Mark

    if arguments.score is None and arguments.comment is None:
        raise Refusal("nothing to keep", "give --score POINTS, --comment TEXT or both")
    with opened_store(arguments.db) as store:
        book = book_of(store)
        if arguments.student not in {row.student for row in book.rows}:
            raise Refusal(f"there is no student {arguments.student!r}", "`export --to csv` lists them")
        if arguments.exercise not in book.exercises:
            raise Refusal(f"the class has no exercise {arguments.exercise!r}", f"it has {', '.join(book.exercises)}")
        own = [m for m in store.marks() if (m.student, m.exercise_id) == (arguments.student, arguments.exercise)]
        before = own[-1] if own else Mark(arguments.student, arguments.exercise, None, "", "", datetime.now(UTC))
        score = before.score if arguments.score is None else _score(arguments.score)
        comment = before.comment if arguments.comment is None else arguments.comment
        mark = Mark(arguments.student, arguments.exercise, score, comment, arguments.author, datetime.now(UTC))
        store.add_mark(mark)
    out.emit({"student": mark.student, "exercise_id": mark.exercise_id, "score": mark.score, "comment": mark.comment})
    given = "the grader's score" if mark.score is None else f"{mark.score:g} points"
    out.say(f"{mark.student}: {mark.exercise_id}: {given}" + (f", {mark.comment}" if mark.comment else ""))
    return Status.PASSED


def _score(text: str) -> float | None:
    if text == "none":
        return None
    try:
        score = float(text)
    except ValueError:
        score = math.nan
    if not (math.isfinite(score) and score >= 0):
        raise Refusal(f"{text!r} is no score", "give points, 0 or more, or none")
    return score
