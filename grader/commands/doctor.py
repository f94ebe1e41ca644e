"""`doctor`: what this machine has for the course, and a kernel judged from end to end."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from grader.commands.status import Status
from grader.console import Output

__all__ = ["add", "run"]

_STYLES = {"ok": "green", "limited": "yellow", "missing": "bold red"}


def add(commands: argparse._SubParsersAction) -> None:
    """The command's arguments."""
    parser = commands.add_parser("doctor", help="what this machine has; runs one kernel from end to end")
    parser.add_argument("--json", action="store_true", help="one JSON object a line on standard output")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, out: Output) -> Status:
    """Prints each finding as it is made; not supported when the self-test does not pass."""
    from rich.text import Text

    from grader.doctor import MISSING, examine

    worst = Status.PASSED
    for finding in examine():
        out.emit(asdict(finding) | {"health": finding.health.word})
        if not out.json_lines:
            out.say(
                Text.assemble((f"{finding.health.sign} {finding.what}: ", _STYLES[finding.health.word]), finding.says)
            )
            if finding.nevertheless:
                out.say(f"    still works: {finding.nevertheless}")
            if finding.next_step:
                out.say(f"    next: {finding.next_step}")
        if finding.health is MISSING:
            worst = Status.NOT_SUPPORTED
    return worst
