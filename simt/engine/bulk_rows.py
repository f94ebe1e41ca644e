"""One row of a bulk copy: bytes that lie together in global memory, 16 bytes a time in shared memory.

A swizzle permutes a row's 16-byte chunks by the address they would have: bits 4 to 6 take in bits 7 to 9 (128B), bits 4
and 5 bits 7 and 8 (64B), bit 4 bit 7 (32B). Source: CUDA C++ Programming Guide, Tensor Memory Access, shared-memory bank
swizzling; that the pattern hangs on the address in shared memory, not on the tile, an H200 shows
(tests/golden/h200/kernels.json, tma/swizzle_apart).
"""

from __future__ import annotations

from simt.engine.atomics import update
from simt.engine.copy_records import Bulk
from simt.engine.findings import READONLY
from simt.engine.lanewise import outside, refuse
from simt.engine.native import native
from simt.engine.races import strength, watched
from simt.engine.races_global import read_global, write_global
from simt.engine.races_shared import make_id
from simt.engine.records import Ptr, b1, i32, i64, u8, u32, u64, void
from simt.engine.segments import aim
from simt.engine.shadow import (
    READ,
    UNSET,
    WRITTEN,
    lane_mark,
    lane_ready,
    report_unset,
    row_mark,
    row_ready,
    shadow_kind,
)
from simt.engine.state import ATOMIC_TYPES, Access, Block, Scope, SegmentFlag, Site, Warp

__all__ = ["MOST_ROW_BYTES", "chunk_at", "fill_chunks", "read_row", "take_chunks", "write_row"]

CHUNK = 16
U32, S32, F16, BF16, F32 = (ATOMIC_TYPES[name] for name in ("u32", "s32", "f16", "bf16", "f32"))
MOST_ROW_BYTES = 2048  # 256 elements of 8 bytes


@native
def chunk_at(place: i64, swizzle: i32) -> i64:
    """Where the 16 bytes go that would lie at `place` in shared memory."""
    lines = (place >> 7) & ((i64(1) << i64(swizzle)) - 1)
    return place ^ (lines << 4)


@native
def fill_chunks(block: Ptr[Block], place: i64, swizzle: i32, row: Ptr[u8], n_bytes: i64) -> void:
    """A row goes to shared memory."""
    if swizzle == 0:
        memcpy(block.shared + place, row, n_bytes)
        return
    for at in range(i64(0), n_bytes, i64(CHUNK)):
        memcpy(block.shared + chunk_at(place + at, swizzle), row + at, CHUNK)


@native
def take_chunks(block: Ptr[Block], place: i64, swizzle: i32, row: Ptr[u8], n_bytes: i64) -> void:
    """A row comes from shared memory."""
    if swizzle == 0:
        memcpy(row, block.shared + place, n_bytes)
        return
    for at in range(i64(0), n_bytes, i64(CHUNK)):
        memcpy(row + at, block.shared + chunk_at(place + at, swizzle), CHUNK)


@native
def aim_row(warp: Ptr[Warp], site: Ptr[Site], lane: u32, address: u64, n_bytes: i64) -> Ptr[u8]:
    """Host address of bytes of global memory, or null after saying that they are outside, or not to be written."""
    host = aim(warp, site, Scope.GLOBAL, address, lane)
    if is_null(host) or i64(site.aim_bytes - site.aim_offset) < n_bytes:
        refuse(warp, site, u32(1) << lane, address, outside(site, Scope.GLOBAL, address))
        return 0
    if site.access != Access.LOAD and site.segment.flags & SegmentFlag.WRITABLE == 0:
        refuse(warp, site, u32(1) << lane, address, READONLY)
        return 0
    return host


@native
def mark_bytes(words: Ptr[u8], offset: u64, n_bytes: i64, bits: u8) -> void:
    """Adds bits to the shadow of neighbouring bytes; the first and the last word may be touched in part."""
    done: i64 = 0
    if offset & 3 == 0:
        eights = (n_bytes >> 2) & ~7
        row_mark(words + (offset >> 2), i32(eights), u64(bits))
        done = eights << 2
    while done < n_bytes:
        here = offset + u64(done)
        if here & 3 == 0 and n_bytes - done >= 4:
            words[here >> 2] |= bits
            done += 4
        else:
            lane_mark(words, here, 1, bits)
            done += 1


@native
def all_ready(words: Ptr[u8], offset: u64, n_bytes: i64) -> b1:
    """Every one of neighbouring bytes holds a value."""
    done: i64 = 0
    if offset & 3 == 0:
        eights = (n_bytes >> 2) & ~7
        if not row_ready(words + (offset >> 2), i32(eights)):
            return False
        done = eights << 2
    while done < n_bytes:
        step: i32 = 4 if (offset + u64(done)) & 3 == 0 and n_bytes - done >= 4 else 1
        if not lane_ready(words, offset + u64(done), step):
            return False
        done += i64(step)
    return True


@native
def read_row(warp: Ptr[Warp], site: Ptr[Site], lane: u32, address: u64, row: Ptr[u8], n_bytes: i64) -> void:
    """Bytes of global memory; where there are none they are NaN, as loads read outside a buffer."""
    host = aim_row(warp, site, lane, address, n_bytes)
    if is_null(host):
        memset(row, 255, n_bytes)
        return
    memcpy(row, host, n_bytes)
    kind = shadow_kind(warp, site, Scope.GLOBAL)
    if kind & UNSET and not all_ready(site.aim_words, site.aim_offset, n_bytes):
        report_unset(warp, site, u32(1) << lane, Scope.GLOBAL, address)
    if kind & SegmentFlag.INPUT:
        mark_bytes(site.aim_words, site.aim_offset, n_bytes, READ)
    if watched(warp, site, Scope.GLOBAL):
        id = make_id(warp, site, lane, 15, 0)
        for word in range(i64(site.aim_offset >> 2), (i64(site.aim_offset) + n_bytes + 3) >> 2):
            read_global(warp, site.segment, id, u32(1) << lane, word)


@native
def write_row(warp: Ptr[Warp], site: Ptr[Site], bulk: Ptr[Bulk], address: u64, row: Ptr[u8], n_bytes: i64) -> void:
    """Bytes reach global memory, by a reduction where the copy is one."""
    host = aim_row(warp, site, bulk.lane, address, n_bytes)
    if is_null(host):
        return
    if watched(warp, site, Scope.GLOBAL):
        watch_row(warp, site, bulk.lane, host, row, n_bytes)
    if bulk.operation >= 0:
        reduce_row(site, bulk, host, row, n_bytes)
    else:
        memcpy(host, row, n_bytes)
    if shadow_kind(warp, site, Scope.GLOBAL) != 0:
        mark_bytes(site.aim_words, site.aim_offset, n_bytes, WRITTEN)


@native
def watch_row(warp: Ptr[Warp], site: Ptr[Site], lane: u32, host: Ptr[u8], row: Ptr[u8], n_bytes: i64) -> void:
    """Racecheck hears of a write, word by word; of a word touched in part, with the bytes that it has there."""
    start = i64(site.aim_offset)
    for word in range(start >> 2, (start + n_bytes + 3) >> 2):
        touched: u32 = 0
        changes: u32 = 0
        for byte in range(word * 4, word * 4 + 4):
            at = byte - start
            if at >= 0 and at < n_bytes:
                touched |= u32(1) << u32(byte & 3)
                changes |= u32(host[at] != row[at])
        id = make_id(warp, site, lane, touched, strength(site))
        write_global(warp, site.segment, id, word, b1(changes != 0 or site.access == Access.ATOMIC))


@native
def element_bytes(kind: i32) -> i32:
    """Bytes of a type in ATOMIC_TYPES that bulk reductions take."""
    if kind == F16 or kind == BF16:
        return 2
    if kind == U32 or kind == S32 or kind == F32:
        return 4
    return 8


@native
def reduce_row(site: Ptr[Site], bulk: Ptr[Bulk], host: Ptr[u8], row: Ptr[u8], n_bytes: i64) -> void:
    """Element by element, each update atomic; f32 sums flush subnormals (PTX ISA, cp.reduce.async.bulk)."""
    old = local(u8, 16)
    unit = site.element_bytes
    site.element_bytes = element_bytes(bulk.atomic_type)
    site.atomic = bulk.operation
    site.atomic_type = bulk.atomic_type
    for at in range(i64(0), n_bytes, i64(site.element_bytes)):
        update(site, host + at, row + at, row + at, old, 1)
    site.element_bytes = unit
