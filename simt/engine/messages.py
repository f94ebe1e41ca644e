"""Findings in words: what happened, where, the values, and the next step.

One function per family, in a table by check; `diagnostics` puts them together with coverage and performance advice and
drops what says the same thing about the same lines twice.
"""

from __future__ import annotations

from collections.abc import Mapping

from simt.counters import Counters
from simt.diagnostics import Diagnostic, diagnose
from simt.engine.advice import advice
from simt.engine.coverage import coverage
from simt.engine.messages_async import ASYNC
from simt.engine.messages_clusters import CLUSTERS
from simt.engine.messages_matrix import MATRIX, is_matrix
from simt.engine.messages_mbarriers import MBARRIERS
from simt.engine.messages_memory import MEMORY
from simt.engine.messages_races import RACES, early_read
from simt.engine.messages_sync import SYNC
from simt.engine.messages_wgmma import WGMMA
from simt.engine.view import Found, LaunchView

__all__ = ["LaunchView", "diagnostics"]

WORDS = {**MEMORY, **RACES, **SYNC, **ASYNC, **MBARRIERS, **WGMMA, **CLUSTERS}
# A finding that names the cause makes these between the same two lines redundant.
IMPLIES = {
    "racecheck.global.RMW": ("racecheck.global.RW", "racecheck.global.WW"),
    "racecheck.shared.RAW": ("racecheck.shared.intra-warp",),
    "racecheck.shared.WAR": ("racecheck.shared.intra-warp",),
    "racecheck.shared.WAW": ("racecheck.shared.intra-warp",),
    "racecheck.shared.store-vs-atomic": ("racecheck.shared.intra-warp",),
}
ONCE = frozenset(
    {"racecheck.shared.intra-warp"}
)  # told once for each array: one warp exchange brings many pairs of lines


def diagnostics(
    view: LaunchView, checks: frozenset[str], by_line: Mapping[int, Counters] | None = None
) -> tuple[Diagnostic, ...]:
    """Every finding of a launch, one per check and pair of lines."""
    found = _same_barrier([_in_words(view, f) for f in _apart(view.findings)])
    every = _distinct(_without_implied(found))
    if "coverage" in checks and view.finished:
        every.extend(coverage(view, tuple(every)))
    if "perf" in checks and view.finished:
        every.extend(advice(view, by_line or {}))
    return tuple(every)


def _words(view: LaunchView, found: Found) -> Diagnostic:
    """A finding in the words of its check, those of matrix instructions where it is about one."""
    table = MATRIX if found.check in MATRIX and is_matrix(view, found.site) else WORDS
    return table[found.check](view, found)


def _apart(findings: tuple[Found, ...]) -> list[Found]:
    """In the order they are told: by block, warp and site."""
    return sorted(findings, key=lambda f: (f.block, f.warp, f.site, f.also_site))


def _in_words(view: LaunchView, found: Found) -> Diagnostic:
    """The order in which the simulator ran warps must not decide whether a race is read-after-write or the reverse."""
    if found.check == "racecheck.shared.WAR" and view.comes_before(found.site, found.also_site):
        return early_read(view, found)
    return _words(view, found)


def _same_barrier(every: list[Diagnostic]) -> list[Diagnostic]:
    """Exchanges inside a warp that lack the very barrier another array lacks between warps: races of that kind too.

    A warp's own exchange is only a warning because some kernels are written for one warp; where the line it waits for
    races across warps as well, the kernel is not one of them.
    """
    between_warps = {d.also_line: d for d in every if d.check == "racecheck.shared.WAR"}
    return [
        diagnose(
            cause.check,
            d.message.replace(" without __syncwarp()", " without a barrier"),
            line=d.line, also_line=d.also_line, block=d.block, lanes=d.lanes, warp=d.warp, address=d.address,
            help=cause.help,
        )
        if d.check == "racecheck.shared.intra-warp" and (cause := between_warps.get(d.also_line)) is not None
        else d
        for d in every
    ]  # fmt: skip


def _without_implied(every: list[Diagnostic]) -> list[Diagnostic]:
    implied = {(weaker, _lines(d)) for d in every for weaker in IMPLIES.get(d.check, ())}
    return [d for d in every if (d.check, _lines(d)) not in implied]


def _lines(diagnostic: Diagnostic) -> frozenset:
    return frozenset((diagnostic.line, diagnostic.also_line))


def _distinct(every: list[Diagnostic]) -> list[Diagnostic]:
    """The first of those with one check, pair of lines and subject, which is the name first quoted."""
    kept: dict[tuple, Diagnostic] = {}
    for d in every:
        subject = d.message.split("`")[1] if "`" in d.message else ""
        place = () if d.check in ONCE else (d.line, d.also_line)
        kept.setdefault((d.check, subject, *place), d)
    return list(kept.values())
