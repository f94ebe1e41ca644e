"""Error map: where a computed matrix differs from the reference, and in what way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from grader.charts.theme import BLUE, GREY, ORANGE, PURPLE, RED, finish, rows

if TYPE_CHECKING:
    import altair

__all__ = ["classify", "error_map"]

RIGHT, TOO_LARGE, TOO_SMALL, NOT_A_NUMBER, UNWRITTEN = "right", "too large", "too small", "not a number", "not written"
_COLOURS = {RIGHT: BLUE, TOO_LARGE: ORANGE, TOO_SMALL: PURPLE, NOT_A_NUMBER: RED, UNWRITTEN: GREY}
# A sign as well as a colour, so that grey print and every eye can tell the kinds apart.
_SIGNS = {RIGHT: "", TOO_LARGE: "+", TOO_SMALL: "−", NOT_A_NUMBER: "N", UNWRITTEN: "·"}
_MOST = 64


def error_map(
    got: np.ndarray,
    want: np.ndarray,
    relative: float = 1e-5,
    absolute: float = 1e-6,
    written: np.ndarray | None = None,
    title: str = "",
    dark: bool | None = None,
) -> altair.TopLevelMixin:
    """A square for each element, coloured and signed by what is wrong with it.

    Args:
        got, want: arrays of the same shape, one or two dimensions; at most 64 × 64 elements are drawn.
        relative, absolute: an element is right when |got - want| <= absolute + relative * |want|.
        written: bool of the same shape; False where no thread wrote.
        title: what is shown.
        dark: see `grader.charts.theme.finish`.
    """
    import altair as alt

    got, want = np.atleast_2d(got), np.atleast_2d(want)
    if got.shape != want.shape or got.ndim != 2:
        raise ValueError(f"two arrays of one shape with at most two dimensions, got {got.shape} and {want.shape}")
    kinds = classify(got, want, relative, absolute, None if written is None else np.atleast_2d(written))
    height, width = min(got.shape[0], _MOST), min(got.shape[1], _MOST)
    cells = [_cell(row, column, kinds, got, want) for row in range(height) for column in range(width)]
    present = [kind for kind in _COLOURS if any(cell["kind"] == kind for cell in cells)]
    base = alt.Chart(rows(cells)).encode(
        x=alt.X("column:O", axis=alt.Axis(labelAngle=0, labelOverlap=True)),
        y=alt.Y("row:O", axis=alt.Axis(labelOverlap=True)),
        tooltip=[alt.Tooltip(f"{name}:N") for name in ("row", "column", "kind", "got", "expected")],
    )
    side = max(6, min(18, 560 // width))
    squares = base.mark_rect(cornerRadius=1, stroke=GREY, strokeOpacity=0.25).encode(
        color=alt.Color("kind:N", title=None, scale=alt.Scale(domain=present, range=[_COLOURS[k] for k in present])),
        opacity=alt.condition(f"datum.kind == '{RIGHT}'", alt.value(0.35), alt.value(1.0)),
    )
    layers = [squares]
    if side >= 12:
        layers.append(base.mark_text(fontWeight="bold", fontSize=11, color="#111418").encode(text="sign:N"))
    wrong = int(np.count_nonzero(kinds != RIGHT))
    cut = f"; the first {height} × {width} shown" if kinds.size > len(cells) else ""
    heading = alt.TitleParams(
        title or "Where the result is wrong", subtitle=f"{wrong} of {kinds.size} elements wrong{cut}"
    )
    counts = ", ".join(f"{int(np.count_nonzero(kinds == kind))} {kind}" for kind in _COLOURS if (kinds == kind).any())
    chart = alt.layer(*layers).properties(width=alt.Step(side), height=alt.Step(side), title=heading)
    return finish(chart, f"of {kinds.size} elements {counts}", dark)


def _cell(row: int, column: int, kinds: np.ndarray, got: np.ndarray, want: np.ndarray) -> dict[str, Any]:
    kind = str(kinds[row, column])
    return {
        "row": row, "column": column, "kind": kind, "sign": _SIGNS[kind],
        "got": f"{got[row, column]:.7g}", "expected": f"{want[row, column]:.7g}",
    }  # fmt: skip


def classify(
    got: np.ndarray, want: np.ndarray, relative: float, absolute: float, written: np.ndarray | None = None
) -> np.ndarray:
    """Of each element: right, too large, too small, not a number, or not written."""
    wide, aim = np.asarray(got, dtype=np.float64), np.asarray(want, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        close = np.abs(wide - aim) <= absolute + relative * np.abs(aim)
        kinds = np.where(close | (wide == aim), RIGHT, np.where(wide > aim, TOO_LARGE, TOO_SMALL))
    kinds = np.where(np.isnan(wide), np.where(np.isnan(aim), RIGHT, NOT_A_NUMBER), kinds)
    return kinds if written is None else np.where(written, kinds, UNWRITTEN)
