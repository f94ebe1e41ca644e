"""`similar --db URL`: pairs of answers that share much text; for instructors, and no verdict."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from grader.commands.status import Refusal, Status
from grader.commands.storing import add_store_options, book_of, opened_store
from grader.console import Output

__all__ = ["NAMES", "add", "run"]

NAMES = ("similar",)


def add(commands: argparse._SubParsersAction) -> None:
    """The command's arguments."""
    parser = commands.add_parser("similar", help="pairs of answers that share much text: a hint to look, no verdict")
    parser.add_argument("--exercise", metavar="ID", help="only this exercise")
    parser.add_argument("--at-least", type=float, default=0.6, metavar="SHARE", help="0 to 1; 0.6 by default")
    add_store_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, out: Output) -> Status:
    """Lists the pairs, the most similar first."""
    from grader.batch.texts import counted_texts
    from grader.similarity import similar_pairs

    if not 0 < arguments.at_least <= 1:
        raise Refusal(f"--at-least is {arguments.at_least:g}", "give a share between 0 and 1")
    with opened_store(arguments.db) as store:
        book = book_of(store)
        if arguments.exercise and arguments.exercise not in book.exercises:
            raise Refusal(f"the class has no exercise {arguments.exercise!r}", f"it has {', '.join(book.exercises)}")
        texts = counted_texts(store, book)
    groups = {row.student: row.group for row in book.rows}
    found = 0
    for exercise_id, (answers, starter) in texts.items():
        if arguments.exercise in (None, exercise_id):
            for pair in similar_pairs(exercise_id, answers, starter, arguments.at_least, groups):
                found += 1
                out.emit(asdict(pair))
                if not out.json_lines:
                    same = ", the same but for names" if pair.is_same else ""
                    out.say(
                        f"{exercise_id}: {pair.first} and {pair.second}: {pair.share:.0%}, {pair.shared} places{same}"
                    )
    out.say(f"{found} pairs share at least {arguments.at_least:.0%}; look at both before you think anything of it")
    return Status.PASSED
