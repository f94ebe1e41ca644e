"""Inputs, references and wrong references of lesson 04 in NumPy; the rows are in `tiling.py`."""

from __future__ import annotations

import numpy as np

TILE = 16  # edge of the GEMM exercises' tiles
TILE_X, TILE_Y = 32, 8  # tile of the stencil and of when_not, one thread an element


def stencil_inputs(sizes, rng):
    """A plane of (height, width) float32."""
    plane = rng.uniform(-1.0, 1.0, (sizes["height"], sizes["width"])).astype(np.float32)
    return {"plane": plane, "width": np.int32(sizes["width"]), "height": np.int32(sizes["height"])}


def blurred(plane, outside=0.0, cut_at_tiles=False):
    """Half of each point and an eighth of its four neighbours; `outside` stands beyond the edge."""
    wide = np.pad(plane.astype(np.float64), 1, constant_values=outside)
    height, width = plane.shape
    row, col = np.arange(height)[:, None], np.arange(width)
    up, down, left, right = wide[:-2, 1:-1], wide[2:, 1:-1], wide[1:-1, :-2], wide[1:-1, 2:]
    if cut_at_tiles:
        up, down = np.where(row % TILE_Y == 0, 0, up), np.where(row % TILE_Y == TILE_Y - 1, 0, down)
        left, right = np.where(col % TILE_X == 0, 0, left), np.where(col % TILE_X == TILE_X - 1, 0, right)
    return {"out": 0.5 * wide[1:-1, 1:-1] + 0.125 * (up + down + left + right)}


def gemm_inputs(sizes, rng):
    """A of (m, k) and B of (k, n), both float32."""
    m, n, k = sizes["m"], sizes["n"], sizes["k"]
    return {
        "A": rng.uniform(-1.0, 1.0, (m, k)).astype(np.float32),
        "B": rng.uniform(-1.0, 1.0, (k, n)).astype(np.float32),
        "m": np.int32(m), "n": np.int32(n), "k": np.int32(k),
    }  # fmt: skip


def product(A, B):
    """C = A · B in double precision."""
    return {"C": A.astype(np.float64) @ B.astype(np.float64)}


def stale_tail(A, B):
    """The last, partly filled tile still holds what the tile before left in it; in a first tile nothing was written."""
    C = product(A, B)["C"]
    tail = A.shape[1] % TILE
    if tail == 0:
        return {"C": C}
    if A.shape[1] < TILE:
        return {"C": np.full_like(C, np.nan)}
    first = A.shape[1] - tail - TILE  # of the tile before the last
    stale = slice(first + tail, first + TILE)
    return {"C": C + A[:, stale].astype(np.float64) @ B[stale].astype(np.float64)}


def row_for_column(A, B):
    """The tile of B is read at [k][ty], so that each row of a tile takes one column for all of its elements."""
    m, n = A.shape[0], B.shape[1]
    row, col = np.arange(m)[:, None], np.arange(n)
    column = col // TILE * TILE + row % TILE
    padded = np.pad(B.astype(np.float64), ((0, 0), (0, TILE)))
    return {"C": np.take_along_axis(A.astype(np.float64) @ padded, column, axis=1)}


def columns_inputs(sizes, rng):
    """A plane of (height, width) and a weight for each column, both float32."""
    width, height = sizes["width"], sizes["height"]
    return {
        "plane": rng.uniform(-1.0, 1.0, (height, width)).astype(np.float32),
        "weight": rng.uniform(0.5, 2.0, width).astype(np.float32),
        "width": np.int32(width), "height": np.int32(height),
    }  # fmt: skip


def weighted(plane, weight):
    """Each element times the weight of its column."""
    return {"out": plane.astype(np.float64) * weight.astype(np.float64)}


def weighted_by_row(plane, weight):
    """Each element times the weight at its row's number; NaN in rows that have none."""
    height, width = plane.shape
    by_row = np.full(height, np.nan)
    by_row[: min(height, width)] = weight[: min(height, width)]
    return {"out": plane.astype(np.float64) * by_row[:, None]}


def weighted_swapped(plane, weight):
    """x counts rows and y columns, while the grid was cut for the other way round."""
    height, width = plane.shape
    rows, columns = -(-width // TILE_X) * TILE_X, -(-height // TILE_Y) * TILE_Y
    keep = (np.arange(height)[:, None] < rows) & (np.arange(width) < columns)
    return {"out": np.where(keep, weighted(plane, weight)["out"], np.nan)}
