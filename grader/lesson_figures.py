"""The drawings of the lessons, from `assets/`: put into the page as SVG, so that their lines take the page's colours."""

from __future__ import annotations

from pathlib import Path

from grader.lesson import Shown

__all__ = ["figure"]

# Narrower, the words of a drawing are too small to read; a narrow window scrolls it instead.
LEAST_WIDTH = "34rem"
ASSETS = Path(__file__).resolve().parents[1] / "assets"


def figure(name: str, caption: str = "") -> Shown:
    """The drawing `assets/NAME.svg` with a caption under it.

    Raises:
        FileNotFoundError: there is no such drawing; names those that there are.
    """
    path = ASSETS / f"{name}.svg"
    if not path.exists():
        known = ", ".join(sorted(p.stem for p in ASSETS.glob("*.svg")))
        raise FileNotFoundError(f"no drawing is called {name!r}; there are {known}")
    svg = path.read_text(encoding="utf-8").replace("<svg ", f'<svg style="min-width:{LEAST_WIDTH}" ', 1)
    below = (
        f'<figcaption style="font-size:0.85em;opacity:0.75;margin-top:0.4em">{caption}</figcaption>' if caption else ""
    )
    drawing = f'<div style="overflow-x:auto">{svg}</div>'
    return Shown(f'<figure style="margin:0.5em 0;max-width:760px">{drawing}{below}</figure>', caption or name)
