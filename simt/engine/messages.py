"""Findings in words: what happened, where, the values, and the next step.

One function per family, in a table by check; `diagnostics` puts them together with coverage and performance advice and
drops what says the same thing about the same lines twice.
"""

from __future__ import annotations

from collections.abc import Mapping

from simt.counters import Counters
from simt.diagnostics import Diagnostic
from simt.engine.advice import advice
from simt.engine.coverage import coverage
from simt.engine.messages_memory import MEMORY
from simt.engine.messages_races import RACES
from simt.engine.messages_sync import SYNC
from simt.engine.view import Found, LaunchView

__all__ = ["LaunchView", "diagnostics"]

WORDS = {**MEMORY, **RACES, **SYNC}
# A finding that names the cause makes these at the same lines redundant.
IMPLIES = {"racecheck.global.RMW": ("racecheck.global.RW", "racecheck.global.WW")}


def diagnostics(
    view: LaunchView, checks: frozenset[str], by_line: Mapping[int, Counters] | None = None
) -> tuple[Diagnostic, ...]:
    """Every finding of a launch, one per check and pair of lines."""
    told: dict[tuple, Diagnostic] = {}
    for found in _apart(view.findings):
        diagnostic = WORDS[found.check](view, found)
        subject = diagnostic.message.split("`")[1] if "`" in diagnostic.message else ""
        told.setdefault((diagnostic.check, diagnostic.line, diagnostic.also_line, subject), diagnostic)
    every = list(_without_implied(told.values()))
    if "coverage" in checks and view.finished:
        every.extend(coverage(view, tuple(every)))
    if "perf" in checks and view.finished:
        every.extend(advice(view, by_line or {}))
    return tuple(every)


def _apart(findings: tuple[Found, ...]) -> list[Found]:
    """In the order they are told: by block, warp and site."""
    return sorted(findings, key=lambda f: (f.block, f.warp, f.site, f.also_site))


def _without_implied(told) -> list[Diagnostic]:
    implied = {
        (weaker, line) for d in told for weaker in IMPLIES.get(d.check, ()) for line in (d.line, d.also_line)
    }  # fmt: skip
    return [d for d in told if (d.check, d.line) not in implied or (d.check, d.also_line) not in implied]
