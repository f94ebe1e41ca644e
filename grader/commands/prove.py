"""`prove PACK`: the self-proof of an instructor's own exercises, like the one that the course's go through in its tests."""

from __future__ import annotations

import argparse
from pathlib import Path

from grader.commands.checking import opened_device
from grader.commands.status import Refusal, Status
from grader.console import Output

__all__ = ["NAMES", "add", "run"]

NAMES = ("prove",)


def add(commands: argparse._SubParsersAction) -> None:
    """The command's arguments."""
    parser = commands.add_parser(
        "prove", help="prove an exercise pack: its solutions pass, its wrong kernels are caught"
    )
    parser.add_argument("pack", metavar="PACK", help="a folder with exercises.py")
    parser.add_argument("--device", choices=("simulator", "cuda"), help="what runs the kernels")
    parser.add_argument("--json", action="store_true", help="one JSON object a line on standard output")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, out: Output) -> Status:
    """Prints each claim; passed when all hold."""
    from grader.packs import PackProblem, known_exercises, load_pack
    from grader.proof import prove

    folder = Path(arguments.pack)
    try:
        rows = load_pack(folder)
        known_exercises([folder])
    except PackProblem as problem:
        raise Refusal(
            str(problem), "a pack is a folder with exercises.py, solutions/, starters/ and mutants/"
        ) from problem
    held = failed = 0
    with opened_device(arguments.device) as device:
        for claim in (claim for row in rows for claim in prove(row, folder, device)):
            held, failed = held + (not claim.problem), failed + bool(claim.problem)
            out.emit({
                "exercise_id": claim.exercise_id, "claim": claim.what, "holds": not claim.problem, "problem": claim.problem,
            })  # fmt: skip
            if not out.json_lines:
                out.say(f"{'✗' if claim.problem else '✓'} {claim.exercise_id}: {claim.what}"
                        + (f": {claim.problem}" if claim.problem else ""))  # fmt: skip
    out.say(f"{held} of {held + failed} claims hold")
    return Status.NOT_PASSED if failed else Status.PASSED
