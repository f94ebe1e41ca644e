"""Matrix operations of a whole warp: who must be there, fragments from and to memory, products.

A fragment's registers lie one after the other, 32 lanes each. `Layout` tells which element of the matrix each of them
holds; tables of `simt.isa.fragments` come in that form with the code that uses them.
"""

from __future__ import annotations

from simt.engine.findings import MISALIGNED, SYNC_MASK, note, record
from simt.engine.layouts import Layout
from simt.engine.memory import load, store
from simt.engine.moves import move
from simt.engine.native import inlined, native, rare
from simt.engine.products import multiply
from simt.engine.records import Ptr, i32, i64, u8, u32, u64, void
from simt.engine.segments import scope_of
from simt.engine.state import CheckBit, Scope, Site, Warp

__all__ = ["IS_RULE", "MATRIX"]

EVERYBODY = 0xFFFFFFFF
SHARED_ROW = 16  # shared memory is read in rows of 16 bytes
STRIDE_RULE = 16  # CUDA C++ Programming Guide, "Warp Matrix Functions": ldm is a multiple of 16 bytes
IS_RULE = 1 << 63  # in a finding's `high`, beside the leading dimension in bytes


@native
def whole_warp(warp: Ptr[Warp], site: i32, mask: u32) -> void:
    """All 32 lanes must run a matrix instruction together; says which do not."""
    if mask != 0 and mask != EVERYBODY and warp.block.launch.checks & CheckBit.SYNCCHECK:
        record(warp, SYNC_MASK, site, -1, ~mask, 0, u64(EVERYBODY), 1)


@inlined
@native
def in_register(layout: Ptr[Layout], element: i32, lane: i32) -> i32:
    """Byte of a fragment's registers at which a lane keeps an element."""
    per = max(4 // layout.element_bytes, 1)
    return (element // per * 32 + lane) * per * layout.element_bytes + element % per * layout.element_bytes


@native
def aim_lanes(layout: Ptr[Layout], request: i32, base: u64, stride: u64, addresses: Ptr[u64]) -> void:
    """Where each lane of a request reaches."""
    for lane in range(32):
        at = request * 32 + lane
        place = u64(layout.major[at]) * stride + u64(layout.minor[at])
        addresses[lane] = base + place * u64(layout.element_bytes)


@inlined
@native
def in_memory(layout: Ptr[Layout], request: i32, lane: i32) -> i32:
    """Byte of the packed matrix, run after run, that a lane's piece starts at."""
    at = request * 32 + lane
    return (i32(layout.major[at]) * layout.n_minor + i32(layout.minor[at])) * layout.element_bytes


@rare
@native
def check_rules(warp: Ptr[Warp], site: Ptr[Site], layout: Ptr[Layout], base: u64, stride: u64) -> void:
    """The pointer must be aligned to what a lane holds and the leading dimension to 16 bytes."""
    runs = stride * u64(layout.element_bytes)
    aligned = u64(layout.align_bytes)
    if scope_of(site, base) == Scope.SHARED:
        aligned = min(aligned, SHARED_ROW)
    if base & (aligned - 1) == 0 and runs & (min(u64(layout.align_bytes), STRIDE_RULE) - 1) == 0:
        return
    if warp.block.launch.checks & CheckBit.MEMCHECK:
        found = note(warp, MISALIGNED, site.index, -1, 1, base)
        if not is_null(found):
            found.high = IS_RULE | runs


@native
def load_fragment(
    warp: Ptr[Warp], site: Ptr[Site], mask: u32, layout: Ptr[Layout], bases: Ptr[u64], strides: Ptr[u32], out: Ptr[u8]
) -> void:
    """`wmma.load`: pieces of the matrix as requests, then each lane's elements into its registers.

    What the hardware reads from shared memory by LDSM is fewer requests, of as many wavefronts.
    """
    if mask == 0:
        return
    base = bases[trailing_zeros(mask)]
    stride = u64(strides[trailing_zeros(mask)])
    check_rules(warp, site, layout, base, stride)
    matrix = local(u8, 2048)
    addresses = local(u64, 32)
    piece = local(u8, 512)
    n_bytes = layout.width * layout.element_bytes
    memset(matrix, 255, 2048)
    memset(piece, 255, 512)
    for request in range(layout.n_requests):
        aim_lanes(layout, i32(request), base, stride, addresses)
        load(warp, site, mask, addresses, piece)
        for lane in range(32):
            move(matrix + in_memory(layout, i32(request), i32(lane)), piece + i64(lane) * i64(n_bytes), n_bytes)
    if layout.tiles != 0 and scope_of(site, base) == Scope.SHARED:
        site.counts[4] -= u64(layout.n_requests - (layout.n_requests + layout.tiles - 1) // layout.tiles)
    for element in range(layout.n_elements):
        for lane in range(32):
            place = i32(layout.stored[i32(element) * 32 + i32(lane)]) * layout.element_bytes
            move(out + in_register(layout, i32(element), i32(lane)), matrix + place, layout.element_bytes)


@native
def store_fragment(
    warp: Ptr[Warp], site: Ptr[Site], mask: u32, layout: Ptr[Layout], bases: Ptr[u64], strides: Ptr[u32], data: Ptr[u8]
) -> void:
    """`wmma.store`: as `load_fragment` the other way."""
    if mask == 0:
        return
    base = bases[trailing_zeros(mask)]
    stride = u64(strides[trailing_zeros(mask)])
    check_rules(warp, site, layout, base, stride)
    matrix = local(u8, 2048)
    addresses = local(u64, 32)
    piece = local(u8, 512)
    n_bytes = layout.width * layout.element_bytes
    for element in range(layout.n_elements):
        for lane in range(32):
            place = i32(layout.stored[i32(element) * 32 + i32(lane)]) * layout.element_bytes
            move(matrix + place, data + in_register(layout, i32(element), i32(lane)), layout.element_bytes)
    for request in range(layout.n_requests):
        aim_lanes(layout, i32(request), base, stride, addresses)
        for lane in range(32):
            move(piece + i64(lane) * i64(n_bytes), matrix + in_memory(layout, i32(request), i32(lane)), n_bytes)
        store(warp, site, mask, addresses, piece)


MATRIX = (whole_warp, load_fragment, store_fragment, multiply)
