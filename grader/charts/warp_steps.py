"""Warp steps: the way of one warp through its kernel, line by line, with the lanes that run each of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grader.charts.theme import BLUE, GREY, finish, rows
from simt.warp_trace import LANES, WarpTrace

if TYPE_CHECKING:
    import altair

__all__ = ["Stretch", "stretches", "warp_steps"]

_MOST_ROWS = 60


@dataclass(frozen=True, slots=True)
class Stretch:
    """Steps of one line by the same lanes, one after the other: `last` is the index of the last of them."""

    line: int | None
    active: int
    last: int
    in_flight: int


def stretches(trace: WarpTrace) -> Iterator[Stretch]:
    """A trace as a person reads it; steps without a line belong to nothing that is shown."""
    shown = [(index, step) for index, step in enumerate(trace.steps) if step.line]
    for position, (index, step) in enumerate(shown):
        after = shown[position + 1][1] if position + 1 < len(shown) else None
        if after is None or (after.line, after.active) != (step.line, step.active):
            yield Stretch(step.line, step.active, index, step.in_flight)


def warp_steps(
    trace: WarpTrace, source: str = "", title: str = "", variable: str | None = None, dark: bool | None = None
) -> altair.TopLevelMixin:
    """A row for each line that the warp runs, top to bottom in time; a filled square is a lane that runs it.

    Args:
        trace: from `Program.trace`.
        source: the kernel's text, for the words beside a row.
        title: what is shown.
        variable: a source variable whose value stands in the tooltip of each lane, None for all that are known.
        dark: see `grader.charts.theme.finish`.
    """
    import altair as alt

    text = source.split("\n")
    found = list(stretches(trace))
    cells = [cell for row, part in enumerate(found[:_MOST_ROWS]) for cell in _cells(trace, row, part, text, variable)]
    order = list(dict.fromkeys(str(cell["row"]) for cell in cells))
    chart = (
        alt.Chart(rows(cells))
        .mark_rect(cornerRadius=2, stroke=GREY, strokeOpacity=0.4)
        .encode(
            x=alt.X("lane:O", title="lane", axis=alt.Axis(labelAngle=0, labelOverlap=True)),
            y=alt.Y("row:O", title=None, sort=order, axis=alt.Axis(labelLimit=320, labelOverlap=False)),
            color=alt.Color(
                "state:N", title=None, scale=alt.Scale(domain=["runs", "waits"], range=[BLUE, "transparent"]),
                legend=alt.Legend(symbolStrokeColor=GREY),
            ),
            tooltip=[alt.Tooltip(f"{name}:N") for name in ("lane", "state", "values", "copies in flight")],
        )
    )  # fmt: skip
    title_of = _title(trace, title, len(found))
    says = "; ".join(f"line {part.line} by {part.active.bit_count()} lanes" for part in found[:_MOST_ROWS])
    return finish(alt.layer(chart).properties(width=alt.Step(16), height=alt.Step(18), title=title_of), says, dark)


def _cells(
    trace: WarpTrace, row: int, part: Stretch, text: list[str], variable: str | None
) -> Iterator[dict[str, Any]]:
    known = trace.variables(part.last)
    words = text[part.line - 1].strip()[:44] if part.line and part.line <= len(text) else ""
    for lane in range(LANES):
        named = {name: lanes[lane] for name, lanes in known.items() if variable in (None, name)}
        values = [f"{name} = {value}" for name, value in named.items() if value is not None]
        yield {
            "row": f"{row + 1}. line {part.line}" + (f": {words}" if words else ""),
            "lane": lane,
            "state": "runs" if part.active >> lane & 1 else "waits",
            "values": ", ".join(values) or "–",
            "copies in flight": part.in_flight,
        }


def _title(trace: WarpTrace, title: str, n_rows: int):
    import altair as alt

    note = f"block {trace.block}, warp {trace.warp}"
    if n_rows > _MOST_ROWS:
        note += f"; the first {_MOST_ROWS} of {n_rows} rows"
    elif trace.truncated:
        note += "; it goes on"
    return alt.TitleParams(title or f"One warp of {trace.kernel}, line by line", subtitle=note)
