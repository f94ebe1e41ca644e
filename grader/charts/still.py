"""Charts as drawings: what a Jupyter notebook keeps, shows without a network, and shows again without running.

Altair's own output for Jupyter is a script that loads Vega from the internet.
"""

from __future__ import annotations

from html import escape
from importlib.util import find_spec

__all__ = ["draw_still"]

NAME = "still"
# Words take the page's colour, as they do where a page's theme draws a chart: one drawing for light and dark.
_INK = "currentColor"
# Words are measured here and drawn elsewhere: these have the same widths, and some room is left for others.
_FONT = "Arial, Helvetica, 'Liberation Sans', Arimo, sans-serif"
_ROOM = 16
_WORDS = {
    "axis": {"labelColor": _INK, "titleColor": _INK},
    "legend": {"labelColor": _INK, "titleColor": _INK},
    "header": {"labelColor": _INK, "titleColor": _INK},
    "title": {"color": _INK, "subtitleColor": _INK},
}


def draw_still() -> bool:
    """From here on Altair shows charts as SVG within the page; False, and nothing changes, without vl-convert."""
    if find_spec("vl_convert") is None:
        return False
    import altair

    altair.renderers.register(NAME, _drawn)
    altair.renderers.enable(NAME)
    return True


def _drawn(specification: dict, **_: object) -> dict[str, str]:
    """Altair's renderer: the chart by media type."""
    import vl_convert

    config = {**specification.get("config", {}), "font": _FONT, "padding": _ROOM}
    drawing = vl_convert.vegalite_to_svg({**specification, "config": config}, config=_WORDS)
    # Shrunk to a narrow page; where a page's font is wider than the measured one, its words reach over the edge.
    label = escape(specification.get("description") or _title(specification))
    opening = f'<svg role="img" aria-label="{label}" style="max-width:100%;height:auto;overflow:visible" '
    drawing = drawing.replace("<svg ", opening, 1)
    return {"text/html": f'<div class="ww-still">{drawing}</div>', "text/plain": _title(specification)}


def _title(specification: dict) -> str:
    title = specification.get("title", "")
    words = title.get("text", "") if isinstance(title, dict) else title
    return f"[chart: {words}]" if words else "[chart]"
