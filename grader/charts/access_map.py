"""Access map: which 32-byte sectors the lanes of a warp touch, one row for each request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from grader.charts.theme import GREY, INK, ORANGE, SKY, finish, rows
from simt.events import MemoryRequest

if TYPE_CHECKING:
    import altair

__all__ = ["access_map", "sectors_of"]

SECTOR_BYTES = 32
_MOST_REQUESTS, _MOST_SECTORS = 24, 160


def access_map(
    requests: Sequence[MemoryRequest], title: str = "", most_requests: int = _MOST_REQUESTS, dark: bool | None = None
) -> altair.TopLevelMixin:
    """A square for each sector that a request touches, with the lanes that asked for it in the tooltip.

    Args:
        requests: global memory requests as a traced launch recorded them; the first `most_requests` are drawn.
        title: what is shown.
        most_requests: rows at most.
        dark: see `grader.charts.theme.finish`.

    A sector of which only part is used is drawn in orange: its other bytes were moved for nothing.
    """
    import altair as alt

    drawn = requests[:most_requests]
    cells = _from_the_first([cell for row, request in enumerate(drawn) for cell in _cells(row, request)])
    span = max((cell["end"] for cell in cells), default=1)
    used = alt.Color(
        "use:N",
        title=None,
        scale=alt.Scale(domain=["every byte used", "part used"], range=[SKY, ORANGE]),
    )
    across = alt.X(
        "sector:Q",
        title="sector (32 bytes each), from the first one touched",
        scale=alt.Scale(domain=[0, span], nice=False),
        axis=alt.Axis(tickCount=min(span, 16), format="d"),
    )
    down = alt.Y("request:O", title=None, sort=None, axis=alt.Axis(labelLimit=260))
    squares = (
        alt.Chart(rows(cells))
        .mark_rect(stroke=GREY, strokeOpacity=0.5, strokeWidth=0.6)
        .encode(
            x=across, x2="end:Q", y=down, color=used,
            tooltip=[alt.Tooltip(f"{name}:N") for name in ("request", "sector", "lanes", "bytes used")],
        )
    )  # fmt: skip
    counted = (
        alt.Chart(rows(_totals(drawn)))
        .mark_text(align="left", dx=8, fontSize=11, color=INK)
        .encode(x=alt.value("width"), y=alt.Y("request:O", sort=None), text="says:N")
    )
    chart = alt.layer(squares, counted).properties(
        width=max(160, min(620, 20 * span)), height=alt.Step(20), title=title or "Sectors touched"
    )
    says = "; ".join(f"{total['request']}: {total['says']}" for total in _totals(drawn)) or "no request"
    return finish(chart, says, dark)


def sectors_of(request: MemoryRequest) -> dict[int, dict[int, int]]:
    """Sector number → {lane: bytes of that lane in it}, for the active lanes of a request."""
    touched: dict[int, dict[int, int]] = {}
    for lane in np.flatnonzero(request.active):
        first = int(request.addresses[lane])
        position, end = first, first + request.size
        while position < end:
            sector = position // SECTOR_BYTES
            taken = min(end, (sector + 1) * SECTOR_BYTES) - position
            touched.setdefault(sector, {})[int(lane)] = taken
            position += taken
    return touched


def _cells(row: int, request: MemoryRequest) -> Iterator[dict[str, Any]]:
    for sector, lanes in sectors_of(request).items():
        starts = {int(request.addresses[lane]) for lane in lanes}
        used = min(SECTOR_BYTES, _distinct_bytes(sector, starts, request.size))
        yield {
            "request": _label(row, request),
            "sector": sector,
            "lanes": ", ".join(str(lane) for lane in sorted(lanes)),
            "bytes used": used,
            "use": "every byte used" if used == SECTOR_BYTES else "part used",
        }


def _from_the_first(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Cells by their distance from the first sector of all, as far as they are drawn."""
    first = min((cell["sector"] for cell in cells), default=0)
    moved = [cell | {"sector": cell["sector"] - first, "end": cell["sector"] - first + 1} for cell in cells]
    return [cell for cell in moved if cell["sector"] < _MOST_SECTORS]


def _distinct_bytes(sector: int, starts: set[int], size: int) -> int:
    low, high = sector * SECTOR_BYTES, (sector + 1) * SECTOR_BYTES
    return len({byte for start in starts for byte in range(max(start, low), min(start + size, high))})


def _totals(drawn: Sequence[MemoryRequest]) -> list[dict[str, Any]]:
    return [
        {"request": _label(row, request), "says": f"{count} sector{'' if count == 1 else 's'}"}
        for row, request in enumerate(drawn)
        for count in [len(sectors_of(request))]
    ]


def _label(row: int, request: MemoryRequest) -> str:
    line = f" line {request.line}" if request.line else ""
    block = ",".join(str(part) for part in request.block)
    return f"{row + 1}. {request.access}{line}, block ({block}) warp {request.warp}"
