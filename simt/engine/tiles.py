"""The rows of a tile between global and shared memory: where each lies, what is outside the tensor, in which order.

Rows of a box follow each other in shared memory, the second dimension fastest. Elements outside the tensor load as zeros or
NaN and are never stored.
"""

from __future__ import annotations

from simt.engine.bulk_rows import MOST_ROW_BYTES, chunk_at, fill_chunks, read_row, take_chunks, write_row
from simt.engine.copy_records import Bulk
from simt.engine.findings import INIT_SHARED, record
from simt.engine.native import native
from simt.engine.records import Ptr, b1, i32, i64, u8, u16, u32, u64, void
from simt.engine.state import ATOMIC_CODES, ATOMIC_TYPES, CheckBit, Site, Warp
from simt.engine.tensor_maps import TileMap, count_along, inner_bytes, map_of, row_pitch, tile_rows

__all__ = ["is_reducible", "tile_in", "tile_out", "tile_type"]

FLOATS = 6  # elements from this code on have a NaN
NAN_HALF = 0x7FF7  # fills f16 on an H200 (tests/golden, tma/load_nan); repeated it is a NaN of every type
NONE = -1
U32, S32, U64, S64, F16, BF16, F32, F64 = (
    ATOMIC_TYPES[name] for name in ("u32", "s32", "u64", "s64", "f16", "bf16", "f32", "f64")
)

ADD, MIN, MAX, INC, DEC = (ATOMIC_CODES[name] for name in ("add", "min", "max", "inc", "dec"))


@native
def is_reducible(operation: i32, kind: i32) -> b1:
    """Whether elements of a type take a reduction (PTX ISA, cp.reduce.async.bulk, valid combinations)."""
    if operation == ADD:
        return kind != NONE
    if operation == MIN or operation == MAX:
        return kind != NONE and kind != F32 and kind != F64
    if operation == INC or operation == DEC:
        return kind == U32
    return kind >= U32 and kind <= S64


@native
def tile_type(tile: Ptr[TileMap]) -> i32:
    """The code in ATOMIC_TYPES of a map's elements, -1 where reductions take none of them."""
    code = i32(tile.element)
    if code < 2:
        return NONE
    if code < 6:
        return integer_type(code)
    if code == 6:
        return F16
    if code == 7:
        return F32
    if code == 8:
        return F64
    return BF16


@native
def integer_type(code: i32) -> i32:
    if code == 2:
        return U32
    if code == 3:
        return S32
    if code == 4:
        return U64
    return S64


@native
def locate(bulk: Ptr[Bulk], tile: Ptr[TileMap], row: i64, address: Ptr[u64]) -> b1:
    """The address of a row's first element inside or outside the tensor; false where its outer indices are outside."""
    left = row
    inside = b1(True)
    place = tile.address
    for dimension in range(1, i32(tile.rank)):
        count = count_along(tile, i32(dimension))
        index = i64(bulk.coordinates[dimension]) + left % count * i64(tile.steps[dimension])
        left = left // count
        inside = b1(inside & (index >= 0) & (index <= i64(tile.sizes[dimension])))
        place += u64(index) * tile.strides[dimension - 1]
    address[0] = place
    return inside


@native
def first_inside(bulk: Ptr[Bulk], tile: Ptr[TileMap]) -> i64:
    """Elements at a row's start that lie before the tensor, at most all."""
    return min(max(-i64(bulk.coordinates[0]), i64(0)), i64(tile.box[0]) + 1)


@native
def end_inside(bulk: Ptr[Bulk], tile: Ptr[TileMap]) -> i64:
    """Where in a row the tensor ends."""
    left = i64(tile.sizes[0]) + 1 - i64(bulk.coordinates[0])
    return min(max(left, i64(0)), i64(tile.box[0]) + 1)


@native
def blank(tile: Ptr[TileMap], row: Ptr[u8]) -> void:
    """A row of what stands for elements outside the tensor."""
    if tile.fill == 0 or tile.element < FLOATS:
        memset(row, 0, inner_bytes(tile))
        return
    for half in range(inner_bytes(tile) // 2):
        cast(Ptr[u16], row)[half] = NAN_HALF


@native
def tile_in(warp: Ptr[Warp], site: Ptr[Site], bulk: Ptr[Bulk]) -> void:
    """A tile reaches shared memory."""
    tile = map_of(bulk)
    row = local(u8, MOST_ROW_BYTES)
    address = local(u64, 1)
    size = i64(tile.element_bytes)
    first = first_inside(bulk, tile)
    n = end_inside(bulk, tile) - first
    for index in range(tile_rows(tile)):
        whole = locate(bulk, tile, index, address)
        if not whole or n <= 0 or n * size < inner_bytes(tile):
            blank(tile, row)
        if whole and n > 0:
            start = address[0] + u64((i64(bulk.coordinates[0]) + first) * size)
            read_row(warp, site, bulk.lane, start, row + first * size, n * size)
        place = i64(bulk.offset) + index * row_pitch(tile)
        fill_chunks(warp.block, place, i32(tile.swizzle), row, inner_bytes(tile))


@native
def tile_out(warp: Ptr[Warp], read: Ptr[Site], write: Ptr[Site], bulk: Ptr[Bulk]) -> void:
    """A tile leaves shared memory; it begins inside its tensor (`simt.engine.tile_copies`)."""
    tile = map_of(bulk)
    row = local(u8, MOST_ROW_BYTES)
    address = local(u64, 1)
    size = i64(tile.element_bytes)
    n = end_inside(bulk, tile)
    for index in range(tile_rows(tile)):
        if locate(bulk, tile, index, address) and n > 0:
            place = i64(bulk.offset) + index * row_pitch(tile)
            take_chunks(warp.block, place, i32(tile.swizzle), row, inner_bytes(tile))
            check_set(warp, read, bulk, place, n * size)
            write_row(warp, write, bulk, address[0] + u64(i64(bulk.coordinates[0]) * size), row, n * size)


@native
def check_set(warp: Ptr[Warp], site: Ptr[Site], bulk: Ptr[Bulk], place: i64, n_bytes: i64) -> void:
    """Bytes at a row's start that nobody wrote are a finding of initcheck."""
    if warp.block.launch.checks & CheckBit.INITCHECK == 0:
        return
    swizzle = i32(map_of(bulk).swizzle)
    for at in range(i64(0), n_bytes, i64(4)):
        chunk = place + (at & ~15)
        word = (chunk_at(chunk, swizzle) + (at & 15)) >> 2
        if warp.block.shared_words[word] & 15 != 15:
            record(warp, INIT_SHARED, site.index, -1, u32(1) << bulk.lane, u64(word) * 4, 0, 0)
            return
