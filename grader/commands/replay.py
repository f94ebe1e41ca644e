"""`replay DIGEST --db URL`: one stored verdict reached again from the stored hand-in, and compared word for word."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from grader.commands.status import Refusal, Status
from grader.commands.storing import add_store_options, missing_device, opened_store
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
    with opened_store(arguments.db) as store:
        here, elsewhere = _chosen(store, arguments.digest)
        seen = [_replayed(store, grading, out) for grading in here]
    for grading, why in elsewhere:
        out.emit(
            {"key": grading.key, "exercise_id": grading.exercise_id, "digest": grading.answer, "same": None, "why": why}
        )
        if not out.json_lines:
            out.say(f"{grading.exercise_id} {_short(grading)} on {grading.device}: not repeated here: {why}")
    return Status.PASSED if all(seen) else Status.NOT_PASSED


def _replayed(store: SqlStore, grading: Grading, out: Output) -> bool:
    """True when the verdict came again."""
    from grader.batch.replay import ReplayProblem, replay
    from grader.batch.work import GradingStopped

    try:
        again = replay(store, grading)
    except GradingStopped as stopped:
        raise Refusal(str(stopped), "mend that and run the same command again", Status.INTERNAL) from stopped
    except ReplayProblem as problem:
        raise Refusal(str(problem), problem.help, Status.NOT_SUPPORTED) from problem
    out.emit({
        "key": grading.key, "exercise_id": grading.exercise_id, "digest": grading.answer, "same": not again.differences,
        "differences": list(again.differences), "versions": dict(again.versions), "report": dict(again.report),
    })  # fmt: skip
    if not out.json_lines:
        said = "the same verdict" if not again.differences else f"differs in {', '.join(again.differences)}"
        out.say(f"{grading.exercise_id} {_short(grading)} on {grading.device}: {again.report['verdict']}: {said}")
        for name, (was, now) in again.versions.items():
            out.say(f"  {name} was {was}, here it is {now}")
    return not again.differences


def _short(grading: Grading) -> str:
    return grading.answer[:12] or grading.key[:12]


def _chosen(store: SqlStore, digest: str) -> tuple[list[Grading], list[tuple[Grading, str]]]:
    """The verdicts of a digest: those that can be reached here, and the others with what this machine lacks.

    An answer has a verdict for each device that judged it, so one machine need not be able to repeat all of them.
    """
    if len(digest) < 6:
        raise Refusal(f"{digest!r} is too short for a digest", "give at least its first six characters")
    found = store.gradings_of(digest)
    if not found:
        raise Refusal(
            f"no stored verdict begins with {digest!r}", "`grade --json` and `export --to csv` name the digests"
        )
    lacks = {name: missing_device(name) for name in {grading.device for grading in found if grading.answer}}
    here = [grading for grading in found if not lacks.get(grading.device)]
    if not here:
        raise Refusal(next(iter(lacks.values())), "`doctor` says what this machine has", Status.NOT_SUPPORTED)
    return here, [(grading, why) for grading in found if (why := lacks.get(grading.device))]
