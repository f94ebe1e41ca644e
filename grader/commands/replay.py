"""`replay DIGEST --db URL`: one stored verdict reached again from the stored hand-in, and compared word for word."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from grader.commands.status import Refusal, Status
from grader.commands.storing import add_store_options, opened_store
from grader.console import Output

if TYPE_CHECKING:
    from grader.stores import Grading
    from grader.stores.sql_store import SqlStore

__all__ = ["NAMES", "add", "run"]

NAMES = ("replay",)


def add(commands: argparse._SubParsersAction) -> None:
    """The command's arguments."""
    parser = commands.add_parser("replay", help="reach one stored verdict again and compare")
    parser.add_argument("digest", metavar="DIGEST", help="of an answer or a verdict; its first characters are enough")
    add_store_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, out: Output) -> Status:
    """Passed when every replayed verdict is the stored one, times aside."""
    from grader.batch.replay import ReplayProblem, replay

    with opened_store(arguments.db) as store:
        status = Status.PASSED
        for grading in _chosen(store, arguments.digest):
            try:
                again = replay(store, grading)
            except ReplayProblem as problem:
                raise Refusal(str(problem), problem.help, Status.NOT_SUPPORTED) from problem
            out.emit({
                "key": grading.key, "exercise_id": grading.exercise_id, "digest": grading.answer, "same": not again.differences,
                "differences": list(again.differences), "versions": dict(again.versions), "report": dict(again.report),
            })  # fmt: skip
            if not out.json_lines:
                said = "the same verdict" if not again.differences else f"differs in {', '.join(again.differences)}"
                out.say(
                    f"{grading.exercise_id} {grading.answer[:12] or grading.key[:12]}: {again.report['verdict']}: {said}"
                )
                for name, (was, now) in again.versions.items():
                    out.say(f"  {name} was {was}, here it is {now}")
            if again.differences:
                status = Status.NOT_PASSED
    return status


def _chosen(store: SqlStore, digest: str) -> list[Grading]:
    if len(digest) < 6:
        raise Refusal(f"{digest!r} is too short for a digest", "give at least its first six characters")
    found = store.gradings_of(digest)
    if not found:
        raise Refusal(
            f"no stored verdict begins with {digest!r}", "`grade --json` and `export --to csv` name the digests"
        )
    return found
