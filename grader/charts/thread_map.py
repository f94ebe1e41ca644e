"""Thread map: which block and thread wrote each element of an array of one or two dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from grader.charts.theme import CYCLE, GREY, RED, finish, rows

if TYPE_CHECKING:
    import altair

__all__ = ["thread_map"]

_MOST_COLUMNS, _MOST_ROWS = 64, 48


def thread_map(
    writers: np.ndarray, threads_per_block: int, title: str = "", columns: int = 32, dark: bool | None = None
) -> altair.TopLevelMixin:
    """A square for each element in the colour of the block that wrote it; a crossed one was written by nobody.

    Args:
        writers: (n,) or (rows, columns) int, linear thread id (block * threads + thread) of each element, -1 for none.
        threads_per_block: to tell block from thread.
        title: what is shown.
        columns: elements in a row when `writers` has one dimension.
        dark: see `grader.charts.theme.finish`.
    """
    import altair as alt

    grid, cut = _as_grid(np.asarray(writers), columns)
    flat = np.asarray(writers).ndim == 1
    cells = [
        _cell(row, column, int(grid[row, column]), threads_per_block, columns if flat else 0)
        for row in range(grid.shape[0])
        for column in range(grid.shape[1])
        if grid[row, column] != _PADDING
    ]
    blocks = sorted({cell["block"] for cell in cells if cell["block"] != "nobody"}, key=int)
    colours = [CYCLE[int(block) % len(CYCLE)] for block in blocks]
    colour = alt.Color(
        "block:N",
        title="block",
        sort=[*blocks, "nobody"],
        scale=alt.Scale(domain=[*blocks, "nobody"], range=[*colours, "transparent"]),
        legend=alt.Legend(symbolStrokeColor=GREY) if len(blocks) <= 12 else None,
    )
    base = alt.Chart(rows(cells)).encode(
        x=alt.X("column:O", title="element" if flat else "column", axis=alt.Axis(labelAngle=0, labelOverlap=True)),
        y=alt.Y("row:O", title=None if flat else "row", axis=alt.Axis(labelOverlap=True)),
        tooltip=[alt.Tooltip(f"{name}:N") for name in ("element", "block", "thread")],
    )
    squares = base.mark_rect(cornerRadius=2, stroke=GREY, strokeOpacity=0.4).encode(color=colour)
    crosses = base.transform_filter("datum.block == 'nobody'").mark_point(
        shape="cross", angle=45, filled=True, color=RED, size=60, opacity=1
    )
    note = f"the first {grid.shape[0]} rows, {grid.shape[1]} columns" if cut else ""
    chart = alt.layer(squares, crosses).properties(
        width=alt.Step(18), height=alt.Step(18), title=_title(title or "Who wrote each element", note)
    )
    nobody = sum(cell["block"] == "nobody" for cell in cells)
    by = f"block{'s' if len(blocks) > 1 else ''} {', '.join(blocks)}" if blocks else "no block"
    return finish(chart, f"{len(cells) - nobody} elements written by {by}; {nobody} by nobody", dark)


_PADDING = -2


def _as_grid(writers: np.ndarray, columns: int) -> tuple[np.ndarray, bool]:
    """`writers` as at most 48 rows of at most 64 columns, and whether something was left out."""
    if writers.ndim == 1:
        columns = min(columns, _MOST_COLUMNS)
        height = -(-max(writers.size, 1) // columns)
        padded = np.full(height * columns, _PADDING, dtype=np.int64)
        padded[: writers.size] = writers
        writers = padded.reshape(height, columns)
    shown = writers[:_MOST_ROWS, :_MOST_COLUMNS]
    return shown, shown.size < writers.size


def _cell(row: int, column: int, writer: int, threads_per_block: int, flat_columns: int) -> dict[str, Any]:
    nobody = writer < 0
    return {
        "row": row * flat_columns if flat_columns else row,
        "column": column,
        "element": str(row * flat_columns + column) if flat_columns else f"[{row}, {column}]",
        "block": "nobody" if nobody else str(writer // threads_per_block),
        "thread": "–" if nobody else str(writer % threads_per_block),
    }


def _title(title: str, note: str):
    import altair as alt

    return alt.TitleParams(title, subtitle=note) if note else title
