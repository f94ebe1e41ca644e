"""Heat map: an amount for each element of a matrix, such as how often it was loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grader.charts.theme import GREY, RAMP, finish, rows

if TYPE_CHECKING:
    import altair

__all__ = ["heat_map"]

_MOST = 64


def heat_map(
    amounts: np.ndarray, unit: str, title: str = "", most: float | None = None, dark: bool | None = None
) -> altair.TopLevelMixin:
    """A square for each element, darker for more; a small matrix shows the numbers too.

    Args:
        amounts: (n,) or (rows, columns) numbers; at most 64 × 64 are drawn.
        unit: what is counted, "loads".
        title: what is shown.
        most: amount at the dark end; the largest one by default. Give it to compare two maps.
        dark: see `grader.charts.theme.finish`.
    """
    import altair as alt

    amounts = np.atleast_2d(amounts)
    shown = amounts[:_MOST, :_MOST]
    cells = [
        {"row": row, "column": column, unit: float(shown[row, column])}
        for row in range(shown.shape[0])
        for column in range(shown.shape[1])
    ]
    top = float(most if most is not None else amounts.max(initial=0.0)) or 1.0
    side = max(6, min(26, 560 // shown.shape[1]))
    base = alt.Chart(rows(cells)).encode(
        x=alt.X("column:O", axis=alt.Axis(labelAngle=0, labelOverlap=True)),
        y=alt.Y("row:O", axis=alt.Axis(labelOverlap=True)),
        tooltip=[alt.Tooltip("row:O"), alt.Tooltip("column:O"), alt.Tooltip(f"{unit}:Q")],
    )
    squares = base.mark_rect(cornerRadius=1, stroke=GREY, strokeOpacity=0.25).encode(
        color=alt.Color(f"{unit}:Q", title=unit, scale=alt.Scale(domain=[0, top], range=list(RAMP), interpolate="lab"))
    )
    layers = [squares]
    if side >= 20:
        # White on the two darker steps of the ramp, near-black on the lighter ones.
        ink = alt.condition(f"datum['{unit}'] > {top * 0.55}", alt.value("#FFFFFF"), alt.value("#111418"))
        layers.append(base.mark_text(fontSize=10).encode(text=alt.Text(f"{unit}:Q", format="~g"), color=ink))
    chart = alt.layer(*layers).properties(width=alt.Step(side), height=alt.Step(side), title=title or unit.capitalize())
    low, high = (f"{float(amount):g}" for amount in (amounts.min(initial=top), amounts.max(initial=0.0)))
    shape, mean = " × ".join(map(str, amounts.shape)), f"{float(amounts.mean()):.3g}"
    return finish(chart, f"{shape} elements, {low} to {high} {unit} each, {mean} on average", dark)
