"""The verdict card: a report as one self-contained piece of HTML for the notebook.

Nothing is loaded from anywhere, everything from outside is escaped, and every fold is a `<details>`, so it works by
keyboard. `data-status`, `data-exercise` and `data-points` let a test or a style sheet see the outcome.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from html import escape

from grader.model import CaseResult, GoalResult, GoalState, Report, Timing, Verdict
from grader.report import wording
from grader.report.card_counters import counters_section
from grader.report.listing import excerpt_lines, listing
from grader.report.speed import duration_text, timing_rows, timing_text
from grader.report.wording import NO_CONTEXT, Context
from simt.diagnostics import Diagnostic

__all__ = ["card", "hints_fold", "style"]

_SIGNS = {"pass": "✓", "goal_missed": "◐"}
_TONES = {"pass": "good", "goal_missed": "open"}
_BAD_SHOWN = 3
_FINDINGS_OPEN = 3
_CODE = re.compile(r"`([^`\n]+)`")


def card(report: Report, context: Context = NO_CONTEXT) -> str:
    """The card's HTML, style included."""
    status = wording.status(report)
    sections = [
        _head(report, context, status),
        _message(report),
        _next(report, context),
        _findings(report, context),
        _cases(report),
        _goals(report, context),
        _speed(report),
        counters_section(report, context),
        _printed(report),
        _foot(report),
    ]
    label = escape(f"{report.exercise_id}: {wording.headline(report)}")
    tone = "open" if wording.is_waiting(report) else _TONES.get(status, "bad")
    return (
        f"<style>{style()}</style>"
        f'<section class="ww ww-tone-{tone}" role="status" aria-label="{label}"'
        f' data-status="{escape(status)}" data-exercise="{escape(report.exercise_id)}"'
        f' data-points="{report.score:g}" data-max-points="{report.max_score:g}"'
        f' data-digest="{escape(report.digest[:12])}">{"".join(sections)}</section>'
    )


@cache
def style() -> str:
    """The card's style sheet, for other pieces that are shown beside it."""
    from importlib.resources import files

    return (files("grader") / "assets" / "card.css").read_text(encoding="utf-8")


def _head(report: Report, context: Context, status: str) -> str:
    title = f"{escape(context.title)} " if context.title else ""
    sign = "?" if wording.is_waiting(report) else _SIGNS.get(status, "✗")
    return (
        f'<header class="ww-head"><span class="ww-sign" aria-hidden="true">{sign}</span>'
        f'<div class="ww-titles"><strong class="ww-headline">{escape(wording.headline(report))}</strong>'
        f'<span class="ww-title">{title}<code>{escape(report.exercise_id)}</code></span></div>'
        f'<span class="ww-points">{escape(wording.points_text(report))}</span></header>'
    )


def _message(report: Report) -> str:
    return f'<p class="ww-message">{_prose(report.message)}</p>' if report.message else ""


def _next(report: Report, context: Context) -> str:
    hints = "" if report.passed else hints_fold(context.hints)
    return (
        f'<div class="ww-next"><span class="ww-label">Next</span>'
        f"<div><p>{_prose(wording.next_step(report, context))}</p>{hints}</div></div>"
    )


def hints_fold(hints: tuple[str, ...]) -> str:
    """Hints as folds in each other, so that the next one is seen only after the one before it was opened."""
    folds = ""
    for number, hint in reversed(list(enumerate(hints, start=1))):
        folds = f"<details><summary>Hint {number} of {len(hints)}</summary><p>{_prose(hint)}</p>{folds}</details>"
    return folds


def _findings(report: Report, context: Context) -> str:
    found = wording.findings(report)
    if not found:
        return ""
    said = wording.next_step(report, context)
    pieces, listed = [], None
    for finding in found:
        lines = (finding.line, finding.also_line)
        pieces.append(_finding(finding, "" if lines == listed else _excerpt(finding, context), context, said))
        listed = lines
    shown, folded = "".join(pieces[:_FINDINGS_OPEN]), "".join(pieces[_FINDINGS_OPEN:])
    if folded:
        shown += f"<details><summary>{len(found) - _FINDINGS_OPEN} more</summary>{folded}</details>"
    return f'<div class="ww-findings">{shown}</div>'


def _finding(finding: Diagnostic, excerpt: str, context: Context, said: str) -> str:
    """One finding with its lines; its help is left out where the card's `Next` has `said` it."""
    place = wording.where(finding, context)
    helps = finding.help and wording.sentence(finding.help) != said
    return (
        f'<article class="ww-finding ww-{finding.severity}" data-check="{escape(finding.check)}">'
        f'<p><span class="ww-badge">{escape(str(finding.severity))} {escape(finding.code)}</span> '
        f"{_prose(finding.message)}</p>"
        + (f'<p class="ww-where">{escape(place)}</p>' if place else "")
        + excerpt
        + (
            f'<p class="ww-help"><span class="ww-label">Help</span><span>{_prose(finding.help)}</span></p>'
            if helps
            else ""
        )
        + "</article>"
    )


def _excerpt(finding: Diagnostic, context: Context) -> str:
    count = context.source.count("\n") + 1 if context.source else 0
    focus = [line for line in (finding.line, finding.also_line) if line and line <= count]
    if not focus:
        return ""
    marks = dict.fromkeys(focus, "also")
    if finding.line:
        marks[finding.line] = str(finding.severity)
    return listing(context.source, marks, shown=excerpt_lines(count, focus))


def _cases(report: Report) -> str:
    if not report.cases:
        return ""
    chips = "".join(_chip(case) for case in report.cases)
    wrong = next((case for case in report.cases if case.first_bad), None)
    passed = sum(case.verdict is Verdict.PASS for case in report.cases)
    return (
        f'<div class="ww-block"><h4>Cases <small>{passed} of {len(report.cases)} right</small></h4>'
        f'<ul class="ww-chips">{chips}</ul>{_wrong_elements(wrong) if wrong else ""}</div>'
    )


def _chip(case: CaseResult) -> str:
    good = case.verdict is Verdict.PASS
    outcome = wording.HEADLINES[case.verdict].lower()
    return (
        f'<li class="ww-chip {"ww-good" if good else "ww-bad"}" title="{escape(f"{case.name}: {outcome}")}">'
        f'<span aria-hidden="true">{"✓" if good else "✗"}</span> {escape(wording.case_label(case))}'
        f'<span class="ww-sr">: {escape(outcome)}</span></li>'
    )


def _wrong_elements(case: CaseResult) -> str:
    shown = case.first_bad[:_BAD_SHOWN]
    known = any(wording.thread_text(bad) for bad in shown)
    rows = "".join(
        f"<tr><td><code>{escape(wording.element_text(bad))}</code></td>"
        f"<td>{escape(wording.value_text(bad.get('got')))}</td><td>{escape(wording.value_text(bad.get('want')))}</td>"
        + (f"<td>{escape(wording.thread_text(bad))}</td></tr>" if known else "</tr>")
        for bad in shown
    )
    heads = "<th>element</th><th>got</th><th>expected</th>" + ("<th>thread</th>" if known else "")
    return (
        f'<div class="ww-scroll"><table class="ww-table"><caption>First wrong elements, {escape(wording.case_label(case))}'
        f"</caption><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _goals(report: Report, context: Context) -> str:
    if not report.goals:
        return ""
    said = wording.next_step(report, context)
    rows = "".join(_goal(goal, report, said) for goal in report.goals)
    return f'<div class="ww-block"><h4>Goals</h4><ul class="ww-goals">{rows}</ul></div>'


def _goal(goal: GoalResult, report: Report, said: str) -> str:
    sign = {GoalState.MET: "✓", GoalState.MISSED: "✗", GoalState.NOT_MEASURED: "–"}[goal.state]
    state = str(goal.state).replace("_", " ")
    value = f"{wording.number(goal.value)} <small>{goal.basis}</small>" if goal.value is not None else ""
    words = [_prose(goal.why)] if goal.why else []
    if goal.state is GoalState.MISSED and goal.question and goal.question != said:
        words.append(f"<em>{_prose(goal.question)}</em>")
    explain = f'<p class="ww-why">{". ".join(words)}</p>' if words else ""
    return (
        f'<li class="ww-goal ww-goal-{goal.state}" data-goal="{escape(goal.metric)}" data-state="{goal.state}">'
        f'<span class="ww-goal-sign" aria-hidden="true">{sign}</span><div><p><span class="ww-sr">{state}: </span>'
        f"{escape(wording.goal_text(goal))}<small> for {wording.points_of(goal.points)}: </small>"
        f"<b>{value or wording.goal_value(goal, report)}</b>{_undecided(goal, report)}</p>"
        f"{explain}</div></li>"
    )


def _undecided(goal: GoalResult, report: Report) -> str:
    """Why a value that stands there decides nothing."""
    reason = wording.does_not_count(goal, report) if goal.value is not None else ""
    return f"<small>{escape(reason)}</small>" if reason else ""


def _speed(report: Report) -> str:
    timing = report.timing
    if timing is None:
        return ""
    bars = f'<div class="ww-bars">{"".join(_bars(timing))}</div>' if timing.student_ns else ""
    rows = "".join(f"<tr><th>{escape(label)}</th><td>{escape(value)}</td></tr>" for label, value in timing_rows(timing))
    basis = (
        f'<details><summary>What it rests on</summary><table class="ww-table">{rows}</table></details>' if rows else ""
    )
    return f'<div class="ww-block"><h4>Speed <small>{escape(timing_text(timing))}</small></h4>{bars}{basis}</div>'


def _bars(timing: Timing) -> Iterator[str]:
    longest = max(timing.baseline_ns, timing.student_ns) or 1.0
    for label, time_ns, kind in (
        ("baseline", timing.baseline_ns, "base"),
        ("yours", timing.student_ns, "yours"),
    ):
        width = max(100 * time_ns / longest, 1)
        yield (
            f'<span class="ww-bar-label">{label}</span><span class="ww-bar-track">'
            f'<span class="ww-bar ww-bar-{kind}" style="width:{width:.1f}%"></span></span>'
            f'<span class="ww-bar-value">{escape(duration_text(time_ns))}</span>'
        )


def _printed(report: Report) -> str:
    if not report.printed:
        return ""
    return (
        f'<details class="ww-block"><summary>Printed by the kernel</summary>'
        f'<pre class="ww-printed" tabindex="0">{escape(report.printed)}</pre></details>'
    )


def _foot(report: Report) -> str:
    parts = [part for part in (report.device, report.digest[:12]) if part]
    if report.when is not None:
        parts.insert(1, f"{report.when:%Y-%m-%d %H:%M}")
    return f'<footer class="ww-foot">{escape(" · ".join(parts))}</footer>' if parts else ""


def _prose(text: str) -> str:
    """Escaped text in which `backticks` become code."""
    return _CODE.sub(r"<code>\1</code>", escape(text))
