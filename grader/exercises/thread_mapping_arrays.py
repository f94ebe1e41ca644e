"""Inputs, references and wrong references of lesson 01 in NumPy; the rows are in `thread_mapping.py`."""

from __future__ import annotations

import numpy as np

BLOCK = 256  # map1d and wide_index
TILE_X, TILE_Y = 32, 8  # block of map2d and of the launch exercise's `tiles`
STRIDE_GRID, STRIDE_BLOCK = 4, 128  # the fixed launch of gridstride
BEHIND = 64  # floats behind the output of map1d
UNTOUCHED = -7.0  # what stood in memory that belongs to somebody else
STRIDE = STRIDE_GRID * STRIDE_BLOCK  # threads of that launch
STRIDE_LAUNCH = {"grid": STRIDE_GRID, "block": STRIDE_BLOCK}


def map1d_inputs(sizes, rng):
    """x of n floats, and y with `BEHIND` floats more than it has elements."""
    n = sizes["n"]
    return {
        "x": rng.uniform(-3.0, 3.0, n).astype(np.float32),
        "y": np.full(n + BEHIND, UNTOUCHED, np.float32),
        "n": np.int32(n),
    }


def squared(x, y, last=None, beyond=0):
    """y with its first elements squared up to `last`, and `beyond` elements that no input stood behind."""
    out = y.astype(np.float64)
    last = x.size if last is None else last
    out[:last] = x[:last].astype(np.float64) ** 2
    out[x.size : x.size + beyond] = np.nan
    return {"y": out}


def launched(n: int) -> int:
    """Threads that map1d's launch starts for n elements."""
    return -(-n // BLOCK) * BLOCK


def map2d_inputs(sizes, rng):
    """A photo of (height, width) and a frame of (height, pitch), both float32."""
    width, height, pitch = sizes["width"], sizes["height"], sizes["pitch"]
    return {
        "photo": rng.uniform(0.0, 1.0, (height, width)).astype(np.float32),
        "frame": np.full((height, pitch), UNTOUCHED, np.float32),
        "width": np.int32(width), "height": np.int32(height), "pitch": np.int32(pitch),
    }  # fmt: skip


def negative(photo, frame, rows=None, columns=None):
    """The frame with 1 - photo in its first `rows` rows and `columns` columns, all of them where those are None."""
    out = frame.astype(np.float64)
    part = 1.0 - photo[:rows, :columns].astype(np.float64)
    out[: part.shape[0], : part.shape[1]] = part
    return {"frame": out}


def swapped_map2d(photo, frame, width, height):
    """x counts rows and y columns, while the grid was cut for the other way round."""
    rows, columns = -(-int(width) // TILE_X) * TILE_X, -(-int(height) // TILE_Y) * TILE_Y
    return negative(photo, frame, rows, columns)


def width_for_pitch(photo, frame):
    """Rows of the frame that follow each other every `width` floats."""
    flat = frame.astype(np.float64).ravel()
    flat[: photo.size] = 1.0 - photo.astype(np.float64).ravel()
    return {"frame": flat}


def pitch_on_both(photo, frame, pitch):
    """Rows of the photo read `pitch` floats apart, too; NaN where that lies past its end."""
    height, width = photo.shape
    index = np.arange(height)[:, None] * int(pitch) + np.arange(width)
    flat = np.append(photo.astype(np.float64).ravel(), np.nan)
    out = frame.astype(np.float64)
    out[:, :width] = 1.0 - flat[np.minimum(index, photo.size)]
    return {"frame": out}


def launch_inputs(sizes, rng):
    """A photo of (height, width) float32."""
    photo = rng.uniform(0.0, 1.0, (sizes["height"], sizes["width"])).astype(np.float32)
    return {"photo": photo, "width": np.int32(sizes["width"]), "height": np.int32(sizes["height"])}


def written(photo, keep):
    """The doubled photo where `keep`, NaN where no thread wrote."""
    return {"out": np.where(keep, 2.0 * photo.astype(np.float64), np.nan)}


def rows_and_columns(photo, rows: int, columns: int):
    """The doubled photo in its first rows and columns, NaN in the others."""
    height, width = photo.shape
    return written(photo, (np.arange(height)[:, None] < rows) & (np.arange(width) < columns))


def flat_floor(photo):
    """What full blocks of `flat` write."""
    keep = np.arange(photo.size) < photo.size // BLOCK * BLOCK
    return written(photo, keep.reshape(photo.shape))


def tiles_floor(photo):
    """What full tiles of `tiles` write."""
    height, width = photo.shape
    return rows_and_columns(photo, height // TILE_Y * TILE_Y, width // TILE_X * TILE_X)


def tiles_swapped(photo):
    """What `tiles` writes when its grid was cut for x along rows."""
    height, width = photo.shape
    return rows_and_columns(photo, -(-width // TILE_X) * TILE_Y, -(-height // TILE_Y) * TILE_X)


def threads_for_blocks(photo):
    """What `rows` writes when its grid has a block for each `BLOCK` rows."""
    height, width = photo.shape
    return rows_and_columns(photo, -(-height // BLOCK), width)


def stride_inputs(sizes, rng):
    """x of n float32."""
    return {"x": rng.uniform(-3.0, 3.0, sizes["n"]).astype(np.float32), "n": np.int32(sizes["n"])}


def halved(x, keep=True):
    """Half of x where `keep`, NaN where no thread wrote."""
    return {"y": np.where(keep, 0.5 * x.astype(np.float64), np.nan)}


def wide_inputs(sizes, rng):
    """x of n float32, and the step between two elements that are read."""
    return {
        "x": rng.uniform(-3.0, 3.0, sizes["n"]).astype(np.float32),
        "n": np.int32(sizes["n"]), "step": np.int32(sizes["step"]),
    }  # fmt: skip


def picked(x, index):
    """x at `index`; NaN where the index lies outside, since such a read yields NaN."""
    inside = (index >= 0) & (index < x.size)
    return {"y": np.where(inside, x.astype(np.float64)[np.where(inside, index, 0)], np.nan)}


def product(x, step):
    """Each thread's index times the step, in 64 bits."""
    return np.arange(x.size, dtype=np.int64) * int(step)


def wrapped_signed(x, step):
    """The product kept in 32 signed bits; the remainder takes its sign, as in C."""
    return picked(x, np.fmod(product(x, step).astype(np.int32).astype(np.int64), x.size))


def wrapped_unsigned(x, step):
    """The product kept in 32 bits without a sign."""
    return picked(x, product(x, step) % 2**32 % x.size)
