"""`similar --db URL`: pairs of answers that share much text; for instructors, and no verdict."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from grader.commands.status import Refusal, Status
from grader.commands.storing import add_store_options, book_of, opened_store
from grader.console import Output

if TYPE_CHECKING:
    from grader.similarity import Comparison

__all__ = ["NAMES", "add", "readable_lines", "run"]

NAMES = ("similar",)
MOST_SHOWN = 40  # lines of an exercise; more help nobody to look


def add(commands: argparse._SubParsersAction) -> None:
    """The command's arguments."""
    parser = commands.add_parser("similar", help="pairs of answers that share much text: a hint to look, no verdict")
    parser.add_argument("--exercise", metavar="ID", help="only this exercise")
    parser.add_argument("--at-least", type=float, default=0.6, metavar="SHARE", help="0 to 1; 0.6 by default")
    add_store_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, out: Output) -> Status:
    """Lists the pairs, the most similar first; for people, equal answers stand in one line."""
    from grader.batch.texts import counted_texts
    from grader.similarity import compare

    if not 0 < arguments.at_least <= 1:
        raise Refusal(f"--at-least is {arguments.at_least:g}", "give a share between 0 and 1")
    with opened_store(arguments.db) as store:
        book = book_of(store)
        if arguments.exercise and arguments.exercise not in book.exercises:
            raise Refusal(f"the class has no exercise {arguments.exercise!r}", f"it has {', '.join(book.exercises)}")
        texts = counted_texts(store, book)
    groups = {row.student: row.group for row in book.rows}
    pairs = 0
    for exercise_id, (answers, starter) in texts.items():
        if arguments.exercise in (None, exercise_id):
            comparison = compare(exercise_id, answers, starter, arguments.at_least, groups)
            pairs += len(comparison.pairs)
            for pair in comparison.pairs:
                out.emit(asdict(pair))
            for crowd in comparison.crowds:
                out.emit(asdict(crowd))
            if not out.json_lines:
                _say(exercise_id, comparison, out)
    out.say(f"{pairs} pairs share at least {arguments.at_least:.0%}; look at both before you think anything of it")
    return Status.PASSED


def _say(exercise_id: str, comparison: Comparison, out: Output) -> None:
    lines = [f"{exercise_id}: {line}" for line in readable_lines(comparison)]
    for line in lines[:MOST_SHOWN]:
        out.say(line)
    if len(lines) > MOST_SHOWN:
        out.say(f"{exercise_id}: … and {len(lines) - MOST_SHOWN} more; `--json` lists all pairs")


def readable_lines(comparison: Comparison) -> Iterator[str]:
    """A line for each group of equal answers, for each pair of different ones, and for each crowd."""
    alike: dict[str, list[str]] = {}  # student → everyone with the same answer, one list for all of them
    for pair in comparison.pairs:
        if pair.is_same:
            group = alike.setdefault(pair.first, [pair.first])
            if pair.second not in group:
                group.append(pair.second)
            alike[pair.second] = group
    seen: set[frozenset[str]] = set()
    for pair in comparison.pairs:
        first, second = alike.get(pair.first, [pair.first]), alike.get(pair.second, [pair.second])
        both = frozenset((first[0], second[0]))
        if both in seen:
            continue
        seen.add(both)
        if pair.is_same:
            yield f"{_names(first)}: the same but for names, {pair.shared} places"
        else:
            yield f"{_one(first)} and {_one(second)}: {pair.share:.0%}, {pair.shared} places"
    for crowd in comparison.crowds:
        yield f"{len(crowd.students)} of {crowd.of} answers are the same but for names: {_names(crowd.students)}"


def _one(group: Sequence[str]) -> str:
    others = f" ({len(group) - 1} more have the same)" if len(group) > 1 else ""
    return group[0] + others


def _names(students: Sequence[str]) -> str:
    return " and ".join(students) if len(students) == 2 else ", ".join(students)
