"""`statistics --db URL`: each exercise's pass rate, commonest findings and time to pass, from the store."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from grader.commands.status import Status
from grader.commands.storing import add_store_options, book_of, opened_store
from grader.console import Output

__all__ = ["NAMES", "add", "run"]

NAMES = ("statistics",)


def add(commands: argparse._SubParsersAction) -> None:
    """The command's arguments."""
    parser = commands.add_parser("statistics", help="how a class gets on with each exercise")
    add_store_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, out: Output) -> Status:
    """A row for each exercise, then what was found most; both stay readable at 80 columns."""
    from rich.box import SIMPLE
    from rich.table import Column, Table

    from grader.gradebook import facts_of
    from grader.statistics import statistics_of

    with opened_store(arguments.db) as store:
        rows = statistics_of(facts_of(store), book_of(store))
    whole = [Column(name, no_wrap=True, overflow="fold") for name in ("exercise", "passed")]
    table = Table(*whole, "tried", "points", "hand-ins to pass", "hours to pass", box=SIMPLE, padding=(0, 1, 0, 0))
    for row in rows:
        out.emit(asdict(row) | {"pass_rate": row.pass_rate, "findings": [list(item) for item in row.findings]})
        table.add_row(
            row.exercise_id, f"{row.passed} of {row.students} ({row.pass_rate:.0%})", str(row.tried),
            f"{row.mean_share:.0%}" + (f", {row.pending} pending" if row.pending else ""),
            _plain(row.median_hand_ins), _plain(row.median_hours_to_pass),
        )  # fmt: skip
    if not out.json_lines:
        out.say(table)
        for row in rows:
            if row.findings:
                found = ", ".join(f"{check} ({count})" for check, count in row.findings)
                out.say(f"{row.exercise_id}, found most: {found}")
    return Status.PASSED


def _plain(value: float | None) -> str:
    return "" if value is None else f"{value:g}"
