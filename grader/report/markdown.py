"""A report as Markdown: feedback in a notebook, an issue or a learning platform.

Whatever comes from a student is escaped or fenced, so feedback never becomes HTML or a heading of its own.
"""

from __future__ import annotations

import re

from grader.model import CaseResult, GoalState, Report, Timing, Verdict
from grader.report import wording
from grader.report.speed import timing_rows, timing_text
from grader.report.wording import NO_CONTEXT, Context
from simt.diagnostics import Diagnostic

__all__ = ["markdown"]

_SIGNS = {"pass": "✓", "goal_missed": "◐"}
_GOAL_SIGNS = {GoalState.MET: "✓", GoalState.MISSED: "✗", GoalState.NOT_MEASURED: "–"}


def markdown(report: Report, context: Context = NO_CONTEXT) -> str:
    """The report; sections that have nothing to say are left out."""
    sign = _SIGNS.get(wording.status(report), "✗")
    title = f" {_prose(context.title)}" if context.title else ""
    parts = [
        f"### {sign} {wording.headline(report)}:{title} `{_code(report.exercise_id)}`",
        f"**{wording.points_text(report)}**" + (f" on {_prose(report.device)}" if report.device else ""),
        _prose(report.message),
        *(_finding(finding, context) for finding in wording.findings(report)),
        _cases(report.cases),
        _goals(report),
        _speed(report.timing) if report.timing else "",
        _fenced(report.printed, "Printed by the kernel:") if report.printed else "",
        f"**Next:** {_prose(wording.next_step(report, context))}",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _finding(finding: Diagnostic, context: Context) -> str:
    lines = [f"- **{finding.severity} {finding.code}**: {_prose(finding.message)}"]
    if place := wording.where(finding, context):
        lines.append(f"  ({_prose(place)})")
    source = context.source.split("\n")
    quoted = [
        f"{number:>4} | {source[number - 1]}"
        for number in dict.fromkeys((finding.line, finding.also_line))
        if number and number <= len(source) and context.source
    ]
    if quoted:
        fence = _fence("\n".join(quoted))
        lines += ["", f"  {fence}", *(f"  {line}" for line in quoted), f"  {fence}"]
    if finding.help:
        lines += ["", f"  {_prose(finding.help)}"]
    return "\n".join(lines)


def _cases(cases: tuple[CaseResult, ...]) -> str:
    if not cases:
        return ""
    rows = ["| case | outcome | first wrong element |", "|---|---|---|"]
    for case in cases:
        outcome = "✓" if case.verdict is Verdict.PASS else f"✗ {wording.HEADLINES[case.verdict].lower()}"
        rows.append(f"| {_prose(wording.case_label(case))} | {outcome} | {_first_bad(case)} |")
    return "\n".join(rows)


def _first_bad(case: CaseResult) -> str:
    if not case.first_bad:
        return ""
    return _prose(wording.bad_text(case.first_bad[0]))


def _goals(report: Report) -> str:
    lines = []
    for goal in report.goals:
        worth = wording.points_of(goal.points)
        value = wording.goal_value(goal, report)
        line = f"- {_GOAL_SIGNS[goal.state]} {_prose(wording.goal_text(goal))}: {value} ({worth})"
        if goal.state is not GoalState.MET and goal.why:
            line += f". {_prose(goal.why)}"
        lines.append(line)
    return "\n".join(lines)


def _speed(timing: Timing) -> str:
    rows = [f"- {_prose(label)}: {_prose(value)}" for label, value in timing_rows(timing)]
    return "\n".join([f"Speed: {_prose(timing_text(timing))}", *(["", *rows] if rows else [])])


def _prose(text: str) -> str:
    """Text on one line without Markdown or HTML meaning; `code` in backticks stays code."""
    flat = " ".join(text.split())
    pieces = flat.split("`")
    if len(pieces) % 2 == 0:
        return _escaped(flat.replace("`", "'"))
    return "".join(f"`{_code(piece)}`" if index % 2 else _escaped(piece) for index, piece in enumerate(pieces))


def _escaped(text: str) -> str:
    return re.sub(r"([\\*_\[\]|#~])", r"\\\1", text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))


def _code(text: str) -> str:
    """Text for between backticks, where `<` is a plain character; a bar would still end a table's cell."""
    return text.replace("`", "'").replace("|", "\\|")


def _fence(text: str) -> str:
    """A fence longer than any run of backticks in the text."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    return "`" * max(3, longest + 1)


def _fenced(text: str, title: str) -> str:
    fence = _fence(text)
    return f"{title}\n\n{fence}\n{text.rstrip()}\n{fence}"
