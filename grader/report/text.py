"""A report for the terminal, made of rich renderables; plain text where colour or width is missing.

Colour only repeats what the words and signs already say.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from grader.model import GoalState, Report, Verdict
from grader.report import wording
from grader.report.speed import timing_rows, timing_text
from grader.report.wording import NO_CONTEXT, Context
from simt.counters import Counters
from simt.diagnostics import Diagnostic, Severity

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

__all__ = ["MARKS", "renderable", "summary_line", "text"]

MARKS = {"pass": ("✓", "green"), "goal_missed": ("◐", "yellow"), "": ("✗", "red")}
_SEVERITY_STYLE = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.ADVICE: "cyan"}
_GOAL_MARKS = {
    GoalState.MET: ("✓", "green"),
    GoalState.MISSED: ("✗", "red"),
    GoalState.NOT_MEASURED: ("–", "dim"),
}
_CASES_SHOWN = 8
# What a terminal would obey: a kernel may print anything.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def text(report: Report, context: Context = NO_CONTEXT, width: int = 100) -> str:
    """The report as plain text, no escape codes: what `renderable` shows without a terminal."""
    import io

    from rich.console import Console

    sink = io.StringIO()
    # In Jupyter a console writes into the cell's output, whatever its file is, unless it is told that it isn't there.
    console = Console(
        file=sink, width=width, color_system=None, force_terminal=False, force_jupyter=False, highlight=False
    )
    console.print(renderable(report, context))
    return sink.getvalue()


def summary_line(report: Report, context: Context = NO_CONTEXT) -> str:
    """One line: sign, exercise, headline, points."""
    sign, _ = _mark(report)
    return f"{sign} {report.exercise_id}: {wording.headline(report)}, {wording.points_text(report)}"


def renderable(report: Report, context: Context = NO_CONTEXT) -> RenderableType:
    """Everything a student needs to read, most important first, as one rich group."""
    from rich.console import Group

    parts = [_head(report, context)]
    if report.message:
        parts.append(_indented(report.message))
    parts += [_finding(finding, context) for finding in wording.findings(report)]
    if report.cases:
        parts.append(_cases(report))
    if report.goals:
        parts.append(_goals(report))
    if report.timing is not None:
        parts.append(_indented(f"speed-up: {timing_text(report.timing)}"))
        parts += [_indented(f"  {label}: {value}", "dim") for label, value in timing_rows(report.timing)]
    if report.counters is not None and report.verdict is Verdict.PASS:
        parts.append(_indented(_counter_line(report.counters), "dim"))
    if report.printed:
        parts.append(_indented("printed by the kernel:\n" + report.printed.rstrip("\n"), "dim"))
    parts.append(_next(report, context))
    for part in parts:
        # One character for one, so that the styled spans stay where they are.
        part.plain = _CONTROL.sub("\N{REPLACEMENT CHARACTER}", part.plain)
    return Group(*parts)


def _mark(report: Report) -> tuple[str, str]:
    return MARKS.get(wording.status(report), MARKS[""])


def _head(report: Report, context: Context) -> Text:
    from rich.text import Text

    sign, style = _mark(report)
    head = Text(f"{sign} {wording.headline(report)}", style=f"bold {style}")
    title = f"{context.title} " if context.title else ""
    head.append(f"  {title}", style="default")
    head.append(report.exercise_id, style="default" if not title else "dim")
    head.append(f"  {wording.points_text(report)}", style="default")
    if report.device:
        head.append(f"  {report.device}", style="dim")
    return head


def _finding(finding: Diagnostic, context: Context) -> Text:
    from rich.text import Text

    style = _SEVERITY_STYLE[finding.severity]
    body = Text()
    body.append(f"  {finding.severity}[{finding.code}]", style=style)
    body.append(f": {finding.message}\n")
    place = wording.where(finding, context)
    if place:
        body.append(f"    --> {place}\n", style="dim")
    lines = context.source.split("\n")
    for number in dict.fromkeys((finding.line, finding.also_line)):
        if number and number <= len(lines):
            body.append(f"    {number:>3} | ", style="dim")
            body.append(f"{lines[number - 1]}\n", style="bold")
    if finding.help:
        body.append(f"    help: {finding.help}\n", style="default")
    body.right_crop(1)
    return body


def _cases(report: Report) -> Text:
    from rich.text import Text

    body = Text("  cases ", style="default")
    shown = sorted(report.cases, key=lambda case: case.verdict is Verdict.PASS)
    for case in shown[:_CASES_SHOWN]:
        sign, style = MARKS["pass"] if case.verdict is Verdict.PASS else MARKS[""]
        body.append(f" {sign} {wording.case_label(case)} ", style=style)
    if len(shown) > _CASES_SHOWN:
        body.append(f" and {len(shown) - _CASES_SHOWN} more", style="dim")
    for case in shown:
        for bad in case.first_bad[:3]:
            body.append(f"\n    {wording.bad_text(bad)} ({wording.case_label(case)})")
        if case.first_bad:
            break
    return body


def _goals(report: Report) -> Text:
    from rich.text import Text

    body = Text()
    for goal in report.goals:
        sign, style = _GOAL_MARKS[goal.state]
        body.append(f"  goal {sign} ", style=style)
        body.append(f"{wording.goal_text(goal)}: {wording.goal_value(goal, report)}")
        body.append(f"  ({wording.points_of(goal.points)})\n", style="dim")
        if goal.state is GoalState.NOT_MEASURED and goal.why:
            body.append(f"         {goal.why}\n", style="dim")
    body.right_crop(1)
    return body


def _counter_line(counters: Counters) -> str:
    wanted = ("sectors per request", "ways", "lane efficiency")
    rows = [row for row in wording.counter_rows(counters) if row.label in wanted]
    return "counters: " + "; ".join(f"{row.group.lower()} {row.value} {row.label}" for row in rows)


def _next(report: Report, context: Context) -> Text:
    from rich.text import Text

    body = Text("  next: ", style="bold")
    body.append(wording.next_step(report, context), style="default")
    if context.hints and not report.passed:
        body.append(f" ({len(context.hints)} hints: `hint {report.exercise_id}`)", style="dim")
    return body


def _indented(words: str, style: str = "default") -> Text:
    from rich.text import Text

    return Text("  " + words.replace("\n", "\n  "), style=style)
