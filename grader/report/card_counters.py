"""The card's counters: a table with Nsight Compute names, and the listing with what each line did."""

from __future__ import annotations

from html import escape
from itertools import groupby

from grader.model import Report, Resources
from grader.report import wording
from grader.report.listing import listing
from grader.report.wording import Context
from simt.counters import Counters

__all__ = ["counters_section", "line_note"]


def counters_section(report: Report, context: Context) -> str:
    """Folded sections with the counters of the measured case; "" when nothing was counted."""
    if report.counters is None:
        return ""
    rows = wording.counter_rows(report.counters)
    if not rows:
        return ""
    body = "".join(_group(group, list(members)) for group, members in groupby(rows, key=lambda row: row.group))
    table = (
        '<details class="ww-block"><summary>Counters, with their Nsight Compute names</summary>'
        '<div class="ww-scroll"><table class="ww-table ww-counters">'
        "<thead><tr><th>counter</th><th>value</th><th>Nsight Compute</th></tr></thead>"
        f"{body}</table></div>{_resources(report.resources)}</details>"
    )
    return table + _by_line(report, context)


def line_note(counters: Counters) -> str:
    """What one source line did, in a few words: `ld 4 sectors/request`."""
    words = []
    if counters.global_load_requests:
        words.append(f"load {wording.number(counters.global_load_sectors_per_request)} sectors/request")
    if counters.global_store_requests:
        words.append(f"store {wording.number(counters.global_store_sectors_per_request)} sectors/request")
    if counters.shared_load_requests:
        words.append(f"shared load {wording.number(counters.shared_load_ways)}-way")
    if counters.shared_store_requests:
        ideal = counters.shared_store_wavefronts - counters.shared_store_excess
        words.append(f"shared store {wording.number(counters.shared_store_wavefronts / ideal) if ideal else 0}-way")
    if counters.divergent_branches:
        words.append(f"{wording.number(counters.divergent_branches)} of {wording.number(counters.branches)} diverge")
    return ", ".join(words)


def _group(group: str, rows: list[wording.CounterRow]) -> str:
    lines = "".join(
        f"<tr><td>{escape(row.label)}</td><td>{row.value}</td><td>{_ncu(row.ncu)}</td></tr>" for row in rows
    )
    return f'<tbody><tr><th colspan="3" scope="rowgroup">{escape(group)}</th></tr>{lines}</tbody>'


def _ncu(name: str) -> str:
    return f"<code>{escape(name)}</code>" if name else '<span class="ww-none">–</span>'


def _resources(resources: Resources | None) -> str:
    if resources is None:
        return ""
    registers = "unknown" if resources.registers is None else str(resources.registers)
    return (
        f'<p class="ww-where">{registers} registers a thread, {resources.spill_bytes} bytes spilled, '
        f"{resources.static_shared_bytes} bytes of static shared memory, {resources.local_bytes} of local memory</p>"
    )


def _by_line(report: Report, context: Context) -> str:
    notes = {line: line_note(counters) for line, counters in report.by_line.items()}
    notes = {line: note for line, note in notes.items() if note}
    if not notes or not context.source:
        return ""
    return (
        '<details class="ww-block"><summary>What each line did</summary>'
        f"{listing(context.source, notes=notes)}</details>"
    )
