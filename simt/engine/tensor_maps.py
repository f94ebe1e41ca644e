"""The 128 bytes of a tensor map as tile copies find them, and who uses something else as one.

The layout is our own: a kernel may only pass a map on. Its bytes come from a parameter, from constant or global memory,
so every field is looked at before it is used; where its address leads is checked row by row.
"""

from __future__ import annotations

from simt.engine.copy_records import Bulk
from simt.engine.findings import MISALIGNED
from simt.engine.lanewise import outside, refuse
from simt.engine.misuse import Misuse, report_misuse
from simt.engine.native import native
from simt.engine.records import Array, Ptr, Record, b1, i32, i64, u8, u32, u64
from simt.engine.segments import aim, scope_of
from simt.engine.state import Scope, Site, Warp

__all__ = ["MAGIC", "TileMap", "fetch_map", "inner_bytes", "map_of", "row_pitch", "tile_rows"]

MAGIC = 0x50414D_52534E54  # begins every map that the host made
MAP_BYTES = 128
MAP_ALIGNMENT = 64
TYPES = 10
MAX_STRIDE = 1 << 40


class TileMap(Record):
    """A tensor map; dimensions count from the innermost, `strides` are of all others. See `simt.tensor_map.TensorMap`."""

    magic: u64
    address: u64
    strides: Array[u64, 4]  # bytes
    sizes: Array[u32, 5]  # less 1
    box: Array[u8, 5]  # less 1
    steps: Array[u8, 5]
    rank: u8
    element: u8  # code of the type, as the driver counts
    element_bytes: u8
    swizzle: u8
    fill: u8
    spare: Array[u8, 45]


@native
def map_of(bulk: Ptr[Bulk]) -> Ptr[TileMap]:
    """The copy of its map that a tile copy keeps."""
    return cast(Ptr[TileMap], addr(bulk.map))


@native
def inner_bytes(tile: Ptr[TileMap]) -> i64:
    """Bytes of one row of the box."""
    return (i64(tile.box[0]) + 1) * i64(tile.element_bytes)


@native
def row_pitch(tile: Ptr[TileMap]) -> i64:
    """Bytes from one row of the box to the next in shared memory: a swizzle always has its whole span.

    Source: tests/golden/h200/kernels.json, tma/swizzle_narrow, a box of 64 bytes in a swizzle of 128 on an H200.
    """
    if tile.swizzle != 0:
        return max(inner_bytes(tile), i64(16) << i64(tile.swizzle))
    return inner_bytes(tile)


@native
def count_along(tile: Ptr[TileMap], dimension: i32) -> i64:
    """Elements of the box along one dimension."""
    if dimension == 0:
        return i64(tile.box[0]) + 1
    step = i64(tile.steps[dimension])
    return (i64(tile.box[dimension]) + step) // step


@native
def tile_rows(tile: Ptr[TileMap]) -> i64:
    """Rows of a tile: the product of its box's extents but for the innermost."""
    rows: i64 = 1
    for dimension in range(1, i32(tile.rank)):
        rows *= count_along(tile, i32(dimension))
    return rows


@native
def element_bytes_of(code: i32) -> i32:
    """Bytes of an element by the driver's code of its type: u8, u16, u32, s32, u64, s64, f16, f32, f64, bf16."""
    if code == 0:
        return 1
    if code == 1 or code == 6 or code == 9:
        return 2
    if code == 2 or code == 3 or code == 7:
        return 4
    return 8


@native
def is_sound(tile: Ptr[TileMap]) -> b1:
    """Whether these bytes are a map: nothing that a copy computes from them then overflows."""
    if tile.magic != MAGIC or tile.rank < 1 or tile.rank > 5 or tile.element >= TYPES:
        return False
    if tile.swizzle > 3 or tile.fill > 1 or i32(tile.element_bytes) != element_bytes_of(i32(tile.element)):
        return False
    if tile.address & 15:
        return False
    if tile.swizzle != 0 and inner_bytes(tile) > i64(16) << i64(tile.swizzle):
        return False  # a swizzled chunk would leave its row
    for dimension in range(5):
        if tile.steps[dimension] < 1 or tile.steps[dimension] > 8:
            return False
        if dimension < 4 and (tile.strides[dimension] >= MAX_STRIDE or tile.strides[dimension] & 15):
            return False
    return inner_bytes(tile) & 15 == 0


@native
def fetch_map(warp: Ptr[Warp], site: Ptr[Site], lane: u32, address: u64, rank: i32, out: Ptr[TileMap]) -> b1:
    """Reads the map at a generic address; false after saying why there is none of that rank."""
    scope = scope_of(site, address)
    if scope == Scope.LOCAL or scope == Scope.SHARED:
        report_misuse(warp, site, -1, lane, address, Misuse.MAP_PLACE, u64(scope))
        return False
    host = aim(warp, site, scope, address, lane)
    if is_null(host) or site.aim_bytes - site.aim_offset < MAP_BYTES:
        refuse(warp, site, u32(1) << lane, address, outside(site, scope, address))
        return False
    if address & (MAP_ALIGNMENT - 1):
        refuse(warp, site, u32(1) << lane, address, MISALIGNED)
        return False
    memcpy(cast(Ptr[u8], out), host, MAP_BYTES)
    if not is_sound(out):
        report_misuse(warp, site, -1, lane, address, Misuse.NO_MAP, 0)
        return False
    if i32(out.rank) != rank:
        report_misuse(warp, site, -1, lane, address, Misuse.MAP_RANK, (u64(out.rank) << 32) | u64(u32(rank)))
        return False
    return True
