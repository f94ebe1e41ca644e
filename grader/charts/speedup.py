"""Speed-up bars: times of several versions of a kernel against the first, with what each number rests on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from grader.charts.theme import BLUE, GREY, INK, SKY, finish, rows
from grader.model import Basis, Timing

if TYPE_CHECKING:
    import altair

__all__ = ["speedup"]


def speedup(timings: Sequence[tuple[str, Timing]], title: str = "", dark: bool | None = None) -> altair.TopLevelMixin:
    """A bar for each version, its length the ratio to the baseline; paler where the ratio was not measured.

    Args:
        timings: (label, timing) of each version; all against the same baseline.
        title: what is shown.
        dark: see `grader.charts.theme.finish`.
    """
    import altair as alt

    records = [_baseline(timings)] if timings else []
    records += [
        {
            "version": label,
            "ratio": timing.ratio,
            "low": timing.low,
            "high": timing.high,
            "basis": str(timing.basis),
            "says": f"{timing.ratio:.2f}x {timing.basis}",
        }
        for label, timing in timings
    ]
    kinds = ["baseline", *(str(basis) for basis in Basis)]
    base = alt.Chart(rows(records)).encode(y=alt.Y("version:N", sort=None, title=None))
    ratio = alt.X(
        "ratio:Q", title="speed-up over the baseline", scale=alt.Scale(domainMin=0), axis=alt.Axis(tickCount=5)
    )
    bars = base.mark_bar(height=20, cornerRadiusEnd=3).encode(
        x=ratio,
        color=alt.Color(
            "basis:N", title=None, scale=alt.Scale(domain=kinds, range=[GREY, BLUE, SKY, SKY]), legend=None
        ),
        tooltip=[alt.Tooltip("version:N"), alt.Tooltip("ratio:Q", format=".3f"), alt.Tooltip("basis:N")],
    )
    whiskers = (
        base.transform_filter("datum.high > datum.low")
        .mark_rule(color=GREY, strokeWidth=2)
        .encode(x=alt.X("low:Q"), x2="high:Q")
    )
    labels = base.mark_text(align="left", dx=6, fontSize=12, color=INK).encode(x=alt.X("high:Q"), text="says:N")
    devices = ", ".join(dict.fromkeys(timing.device for _, timing in timings))
    chart = alt.layer(bars, whiskers, labels).properties(
        width=420, height=alt.Step(32), title=alt.TitleParams(title or "Speed-up", subtitle=devices)
    )
    return finish(chart, "; ".join(f"{record['version']} {record['says']}" for record in records), dark)


def _baseline(timings: Sequence[tuple[str, Timing]]) -> dict[str, object]:
    return {
        "version": "baseline",
        "ratio": 1.0,
        "low": 1.0,
        "high": 1.0,
        "basis": "baseline",
        "says": f"1x, {timings[0][1].baseline_ns / 1e3:.3g} µs",
    }
