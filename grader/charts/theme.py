"""Colours, type and ground that all charts share.

Hues are the eight of Okabe and Ito (2008), told apart with every common kind of colour blindness; the same hue means
the same thing in each chart. Value scales run through one hue and stay ordered in grey.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import altair

__all__ = ["BLUE", "CYCLE", "GREEN", "GREY", "INK", "ORANGE", "PURPLE", "RAMP", "RED", "SKY", "finish", "rows"]

BLUE, SKY, GREEN, ORANGE = "#0072B2", "#56B4E9", "#009E73", "#E69F00"
RED, PURPLE, GREY = "#D55E00", "#CC79A7", "#8A9099"
# For things without an order (blocks, warps): neighbours differ in lightness too.
CYCLE = (BLUE, ORANGE, SKY, PURPLE, GREEN, "#B59B00")
# For amounts, from few to many; the same in light and dark.
RAMP = ("#9BCBEB", "#56A3D9", "#0072B2", "#054A7C")

# For words inside a chart, which no theme of a page recolours: the grey that reads about equally well (4 : 1) on both.
INK = "#7A828C"

_TEXT = {True: "#D5DAE1", False: "#2B3138"}
_FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif'


def rows(values: Iterable[Mapping[str, object]]) -> altair.Data:
    """Records as inline data, so that a chart needs no data frame package.

    They stand in the specification as one JSON text: Altair checks a list record by record against Vega-Lite's schema,
    several times over, which takes over a second for 64 × 64 squares and delays every move of a slider.
    """
    import altair

    text = json.dumps([{name: _finite(part) for name, part in value.items()} for value in values], ensure_ascii=False)
    return altair.Data(values=text, format=altair.DataFormat(type="json"))


def _finite(value: object) -> object:
    """JSON has no NaN and no infinity; a chart leaves out what is null."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def finish(chart: Any, says: str, dark: bool | None = None) -> altair.TopLevelMixin:
    """The chart on a clear ground with quiet axes.

    Args:
        chart: with its title.
        says: what a picture's reader sees at first sight, for who hears the page.
        dark: fixes the colour of its text, None leaves it to the page.
    """
    title = getattr(chart.title, "text", chart.title)
    chart = (
        chart.properties(description=f"{title}: {says}")
        .configure(background="transparent", font=_FONT)
        .configure_view(stroke=None)
        .configure_axis(
            grid=False,
            domain=False,
            tickSize=3,
            labelFontSize=11,
            labelSeparation=4,
            titleFontSize=12,
            titleFontWeight="normal",
        )
        .configure_title(anchor="start", fontSize=13, fontWeight="bold", subtitleFontSize=12, offset=8)
        .configure_legend(labelFontSize=11, titleFontSize=11, titleFontWeight="normal", orient="top", symbolSize=90)
    )
    if dark is None:
        return chart
    # A configuration is merged key by key, so colours can be added to what stands there.
    text = _TEXT[dark]
    config = chart.config
    for part in ("axis", "legend", "title"):
        section = getattr(config, part)
        if part == "title":
            section.color, section.subtitleColor = text, text
        else:
            section.labelColor, section.titleColor = text, text
            if part == "axis":
                section.tickColor = GREY
    return chart
