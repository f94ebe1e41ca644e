"""The word shadow of initcheck and coverage: which bytes hold a value, which words were read or written.

One byte per 4-byte word (`Segment.words`): low nibble, bytes that hold a value; bit 4, read; bit 5, written. Neighbouring
accesses are looked at eight words at a time; only what fails there is looked at lane by lane.
"""

from __future__ import annotations

from simt.engine.findings import INIT_GLOBAL, INIT_LOCAL, INIT_SHARED, record
from simt.engine.native import inlined, native, rare
from simt.engine.pattern import CONTIGUOUS, access_bytes
from simt.engine.records import Ptr, b1, i32, u8, u32, u64, void
from simt.engine.runs import runs_of
from simt.engine.state import CheckBit, Scope, SegmentFlag, Site, Warp

__all__ = [
    "lane_mark",
    "lane_ready",
    "report_unset",
    "row_mark",
    "row_ready",
    "shadow_kind",
    "shadow_read",
    "shadow_write",
]

READ = 0x10
WRITTEN = 0x2F  # a word all of whose bytes hold a value
UNSET = SegmentFlag.UNINITIALISED
EIGHT = 0x0101010101010101


@inlined
@native
def shadow_kind(warp: Ptr[Warp], site: Ptr[Site], scope: i32) -> i32:
    """`SegmentFlag`s that the shadow of the request's memory serves, 0 for none."""
    if is_null(site.aim_words):
        return 0
    if scope == Scope.SHARED or scope == Scope.LOCAL:
        if warp.block.launch.checks & CheckBit.INITCHECK:
            return UNSET
        return 0
    return site.segment.flags & (SegmentFlag.UNINITIALISED | SegmentFlag.INPUT)


@inlined
@native
def lane_nibble(offset: u64, n_bytes: i32) -> u8:
    """The bytes of its first word that an access touches."""
    if n_bytes >= 4:
        return 15
    return u8(((u32(1) << n_bytes) - 1) << u32(offset & 3))


@native
def lane_ready(words: Ptr[u8], offset: u64, n_bytes: i32) -> b1:
    """Every byte of one lane's access holds a value."""
    wanted = lane_nibble(offset, n_bytes)
    for word in range((n_bytes + 3) >> 2):
        if words[(offset >> 2) + u64(word)] & wanted != wanted:
            return False
    return True


@native
def lane_mark(words: Ptr[u8], offset: u64, n_bytes: i32, bits: u8) -> void:
    """Adds bits to the words of one lane's access; for parts of a word its low nibble is narrowed to them.

    Blocks on other native threads may own other bytes of the word, so a part is added atomically.
    """
    place: Ptr[u8] = words + (offset >> 2)
    if n_bytes < 4:
        part = bits & (lane_nibble(offset, n_bytes) | 0xF0)
        if place[0] & part != part:
            atomic_or(place, part)
        return
    for word in range(n_bytes >> 2):
        if place[word] & bits != bits:
            place[word] |= bits


@inlined
@native
def row_words(site: Ptr[Site]) -> i32:
    """Words of a request that touches whole neighbouring words, a multiple of 8, else 0."""
    if site.pattern_shape == CONTIGUOUS and site.aim_offset & 3 == 0:
        return 8 * access_bytes(site)
    return 0


@inlined
@native
def row_ready(words: Ptr[u8], n_words: i32) -> b1:
    """Whether all four bytes of each of `n_words` words, a multiple of 8, were written."""
    eight = local(u64, 1)
    together: u64 = u64(15) * EIGHT
    for at in range(0, n_words, 8):
        memcpy(eight, words + at, 8)
        together &= eight[0]
    return together == u64(15) * EIGHT


@native
def row_mark(words: Ptr[u8], n_words: i32, bits: u64) -> void:
    """Sets `bits` for each of `n_words` words, a multiple of 8; writes only where one is missing."""
    eight = local(u64, 1)
    for at in range(0, n_words, 8):
        memcpy(eight, words + at, 8)
        if eight[0] & (bits * EIGHT) != bits * EIGHT:
            eight[0] |= bits * EIGHT
            memcpy(words + at, eight, 8)


@native
def shadow_read(warp: Ptr[Warp], site: Ptr[Site], mask: u32, scope: i32, address: u64) -> void:
    """A request that `place` accepted reads: bytes without a value are a finding, inputs are marked read."""
    kind = shadow_kind(warp, site, scope)
    if kind == 0:
        return
    words: Ptr[u8] = site.aim_words + (site.aim_offset >> 2)
    n_words = row_words(site)
    if n_words != 0:
        if kind & UNSET and not row_ready(words, n_words):
            read_lanes(warp, site, mask, scope, address, kind)
        if kind & SegmentFlag.INPUT:
            row_mark(words, n_words, READ)
        return
    n_runs = runs_of(site)
    if n_runs == 0 or (kind & UNSET and not runs_ready(site, words, n_runs)):
        read_lanes(warp, site, mask, scope, address, kind)
    elif kind & SegmentFlag.INPUT:
        mark_runs(site, words, n_runs, READ)


@rare
@native
def runs_ready(site: Ptr[Site], words: Ptr[u8], n_runs: i32) -> b1:
    for run in range(n_runs):
        start = words + site.run_first[run]
        n = site.run_words[run]
        if not row_ready(start, n & ~7):
            return False
        for word in range(n & ~7, n):
            if start[word] & 15 != 15:
                return False
    return True


@rare
@native
def mark_runs(site: Ptr[Site], words: Ptr[u8], n_runs: i32, bits: u8) -> void:
    for run in range(n_runs):
        start = words + site.run_first[run]
        n = site.run_words[run]
        row_mark(start, n & ~7, u64(bits))
        for word in range(n & ~7, n):
            if start[word] & bits != bits:
                start[word] |= bits


@rare
@native
def read_lanes(warp: Ptr[Warp], site: Ptr[Site], mask: u32, scope: i32, address: u64, kind: i32) -> void:
    n_bytes = access_bytes(site)
    unset: u32 = 0
    lanes = mask
    while lanes != 0:
        lane = trailing_zeros(lanes)
        offset = site.aim_offset + u64(site.pattern[lane])
        if kind & UNSET and not lane_ready(site.aim_words, offset, n_bytes):
            unset |= u32(1) << lane
        if kind & SegmentFlag.INPUT:
            lane_mark(site.aim_words, offset, n_bytes, READ)
        lanes &= lanes - 1
    if unset != 0:
        report_unset(warp, site, unset, scope, address + u64(site.pattern[trailing_zeros(unset)]))


@rare
@native
def report_unset(warp: Ptr[Warp], site: Ptr[Site], lanes: u32, scope: i32, address: u64) -> void:
    """Records that `lanes` read what nobody wrote."""
    check: i32 = INIT_GLOBAL
    if scope == Scope.SHARED:
        check = INIT_SHARED
    elif scope == Scope.LOCAL:
        check = INIT_LOCAL
    record(warp, check, site.index, -1, lanes, address, 0, 0)


@native
def shadow_write(warp: Ptr[Warp], site: Ptr[Site], mask: u32, scope: i32) -> void:
    """A request that `place` accepted writes: its bytes hold a value from here on."""
    if shadow_kind(warp, site, scope) == 0:
        return
    n_words = row_words(site)
    if n_words != 0:
        row_mark(site.aim_words + (site.aim_offset >> 2), n_words, WRITTEN)
        return
    n_runs = runs_of(site)
    if n_runs != 0:
        mark_runs(site, site.aim_words + (site.aim_offset >> 2), n_runs, WRITTEN)
        return
    lanes = mask
    while lanes != 0:
        lane = trailing_zeros(lanes)
        lane_mark(site.aim_words, site.aim_offset + u64(site.pattern[lane]), access_bytes(site), WRITTEN)
        lanes &= lanes - 1
