"""Counters by line: a bar beside each line of the kernel, so that the expensive one is seen at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from grader.charts.theme import BLUE, INK, ORANGE, finish, rows
from simt.counters import Counters

if TYPE_CHECKING:
    import altair

__all__ = ["counters_by_line"]

_LINE_CHARACTERS = 72


def _records(source: str, values: Mapping[int, float]) -> list[dict]:
    """What is drawn for each line that is not blank; `values` by 1-based line."""
    top = max(values.values(), default=0.0)
    return [
        {
            "line": f"{number:>2}  {text[:_LINE_CHARACTERS]}",
            "value": values.get(number, 0.0),
            "label": f"{values[number]:,g}" if values.get(number) else "",
            "most": bool(top) and values.get(number, 0.0) == top,
        }
        for number, text in enumerate(source.split("\n"), start=1)
        if text.strip()
    ]


def counters_by_line(
    source: str,
    by_line: Mapping[int, Counters],
    counter: str = "global_load_sectors",
    title: str = "",
    dark: bool | None = None,
) -> altair.TopLevelMixin:
    """The kernel's text with a bar at each line that counted something.

    Args:
        source: canonical CUDA text.
        by_line: 1-based line → its counters.
        counter: a field or ratio of `Counters`.
        title: what is shown.
        dark: see `grader.charts.theme.finish`.
    """
    import altair as alt

    if not hasattr(Counters(), counter):
        raise ValueError(f"no counter is called {counter!r}; see `simt.counters.Counters`")
    values = {line: float(getattr(counters, counter)) for line, counters in by_line.items()}
    records = _records(source, values)
    base = alt.Chart(rows(records)).encode(
        y=alt.Y(
            "line:N",
            sort=None,
            title=None,
            axis=alt.Axis(
                labelFont="ui-monospace, Menlo, Consolas, monospace",
                labelLimit=560,
                labelAlign="left",
                labelPadding=_label_width(records),
                ticks=False,
            ),
        ),
        x=alt.X("value:Q", title=counter.replace("_", " "), axis=alt.Axis(tickCount=4)),
    )
    bars = base.mark_bar(height=12, cornerRadiusEnd=3).encode(
        color=alt.condition("datum.most", alt.value(ORANGE), alt.value(BLUE))
    )
    labels = base.mark_text(align="left", dx=4, fontSize=11, color=INK).encode(text="label:N")
    chart = alt.layer(bars, labels).properties(
        width=260, height=alt.Step(19), title=title or f"{counter.replace('_', ' ').capitalize()} by line"
    )
    says = "; ".join(f"line {line} {value:,g}" for line, value in sorted(values.items()) if value) or "nothing counted"
    return finish(chart, says, dark)


def _label_width(records: list[dict[str, object]]) -> int:
    """Pixels that the longest line needs: left-aligned labels hang that far left of the axis."""
    return min(560, int(6.7 * max((len(str(record["line"])) for record in records), default=0)) + 8)
