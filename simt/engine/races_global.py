"""Racecheck of global memory within one launch: who wrote and read each word, and what orders them.

Two accesses of one block are ordered by a barrier between them. Accesses of different blocks are ordered when the first
block released (a fence, then an atomic or volatile write) after its access and the second acquired (an atomic or volatile
read) after that release. One clock for the launch counts releases; it errs on the silent side: which address carried the
flag does not matter, and what one warp acquired counts for its block.

Twelve columns of u32 a word: block + 1 (0 for none), clock, barrier epoch and id (as in `races_shared`) of the last
writer and of the two latest readers in different warps.
"""

from __future__ import annotations

from simt.engine.findings import ATOMIC_READ, GLOBAL_RMW, GLOBAL_RW, GLOBAL_WW, note
from simt.engine.native import native
from simt.engine.races_shared import (
    ALONE,
    ATOMIC,
    BYTES,
    LANE_SHIFT,
    OTHER_LANES,
    SITE_SHIFT,
    WARP_SHIFT,
    both_strong,
    lane_of_id,
    site_of_id,
    warp_of_id,
)
from simt.engine.records import Ptr, b1, i32, i64, u32, u64, void
from simt.engine.state import Segment, Warp

__all__ = ["GLOBAL_COLUMNS", "fill_entries", "keep_readers", "quiet_global", "read_global", "write_global"]

GLOBAL_COLUMNS = 12
WRITE, READ, READ_BEFORE = 0, 4, 8  # first column of an entry: block + 1, clock, epoch, id
CLOCK, EPOCH, ID = 1, 2, 3


@native
def entry(segment: Ptr[Segment], column: i64, word: i64) -> Ptr[u32]:
    return cast(Ptr[u32], segment.races) + (column * i64((segment.n_bytes + 3) >> 2) + word)


@native
def stamp(warp: Ptr[Warp], segment: Ptr[Segment], column: i64, word: i64, id: u32) -> void:
    """Notes the access at hand; other bytes that the warp touched at the same time stay."""
    clock = u32(warp.block.launch.race_epoch)
    epoch = u32(warp.block.epoch)
    bytes: u32 = 0
    if is_mine(warp, segment, column, word) and entry(segment, column + EPOCH, word)[0] == epoch:
        if entry(segment, column + CLOCK, word)[0] == clock:
            bytes = entry(segment, column + ID, word)[0] & BYTES
    entry(segment, column, word)[0] = u32(warp.block.linear) + 1
    entry(segment, column + CLOCK, word)[0] = clock
    entry(segment, column + EPOCH, word)[0] = epoch
    entry(segment, column + ID, word)[0] = id | bytes


@native
def is_mine(warp: Ptr[Warp], segment: Ptr[Segment], column: i64, word: i64) -> b1:
    """The noted access is one of this very warp."""
    if entry(segment, column, word)[0] != u32(warp.block.linear) + 1:
        return False
    return warp_of_id(entry(segment, column + ID, word)[0]) == u32(warp.index)


@native
def unordered(warp: Ptr[Warp], segment: Ptr[Segment], column: i64, word: i64, id: u32) -> b1:
    """The noted access is of another warp, touches the same bytes, and nothing orders it before the one at hand."""
    block = entry(segment, column, word)[0]
    other = entry(segment, column + ID, word)[0]
    if block == 0 or other & id & BYTES == 0 or is_mine(warp, segment, column, word) or both_strong(other, id):
        return False
    if block == u32(warp.block.linear) + 1:
        return entry(segment, column + EPOCH, word)[0] == u32(warp.block.epoch)
    return warp.block.acquired <= u64(entry(segment, column + CLOCK, word)[0])


@native
def report_global(
    warp: Ptr[Warp], check: i32, site: u32, also: u32, segment: Ptr[Segment], word: i64, lanes: u32, column: i64
) -> void:
    """A finding at the lanes at hand; `low` and `high` name the block and warp of the other access."""
    found = note(warp, check, site_of_id(site), site_of_id(also), lanes, segment.base + u64(word) * 4)
    if not is_null(found) and found.count == popcount(lanes):
        found.low = u64(entry(segment, column, word)[0] - 1)
        found.high = u64(warp_of_id(entry(segment, column + ID, word)[0]))


@native
def lane_bit(id: u32) -> u32:
    return u32(1) << lane_of_id(id)


@native
def site_at(segment: Ptr[Segment], column: i64, word: i64) -> u32:
    return entry(segment, column + ID, word)[0] >> SITE_SHIFT


@native
def read_global(warp: Ptr[Warp], segment: Ptr[Segment], id: u32, lanes: u32, word: i64) -> void:
    """Lanes read (part of) a word."""
    if unordered(warp, segment, WRITE, word, id):
        writer = entry(segment, WRITE + ID, word)[0]
        check: i32 = GLOBAL_RW
        if writer & ATOMIC != 0:
            check = ATOMIC_READ
        elif read_alike(segment, READ, word, id) or read_alike(segment, READ_BEFORE, word, id):
            check = GLOBAL_RMW
        report_global(warp, check, id >> SITE_SHIFT, writer >> SITE_SHIFT, segment, word, lanes, WRITE)
    if entry(segment, READ, word)[0] != 0 and not is_mine(warp, segment, READ, word):
        for part in range(4):
            entry(segment, READ_BEFORE + part, word)[0] = entry(segment, READ + part, word)[0]
    stamp(warp, segment, READ, word, id)


@native
def read_alike(segment: Ptr[Segment], column: i64, word: i64, id: u32) -> b1:
    """The word's writer itself had read it, by the load at hand: every thread reads, changes and writes it."""
    if entry(segment, column, word)[0] != entry(segment, WRITE, word)[0]:
        return False
    reader = entry(segment, column + ID, word)[0]
    return (
        warp_of_id(reader) == warp_of_id(entry(segment, WRITE + ID, word)[0])
        and reader >> SITE_SHIFT == id >> SITE_SHIFT
    )


@native
def several_read(warp: Ptr[Warp], segment: Ptr[Segment], word: i64) -> b1:
    """The latest reader was several lanes of one request."""
    return entry(segment, READ + ID, word)[0] & OTHER_LANES != 0


@native
def write_global(warp: Ptr[Warp], segment: Ptr[Segment], id: u32, word: i64, changes: b1) -> void:
    """One lane writes (part of) a word; `changes` says that memory held another value."""
    check_readers(warp, segment, id, word, READ)
    check_readers(warp, segment, id, word, READ_BEFORE)
    writer = entry(segment, WRITE + ID, word)[0]
    if unordered(warp, segment, WRITE, word, id):
        if writer & ATOMIC != 0 and id & ATOMIC == 0:
            report_global(warp, ATOMIC_READ, id >> SITE_SHIFT, writer >> SITE_SHIFT, segment, word, lane_bit(id), WRITE)
        elif id & ATOMIC != 0 and writer & ATOMIC == 0:
            report_global(warp, ATOMIC_READ, writer >> SITE_SHIFT, id >> SITE_SHIFT, segment, word, lane_bit(id), WRITE)
        elif changes and id & ATOMIC == 0 and not is_mine(warp, segment, READ, word):
            report_global(warp, GLOBAL_WW, id >> SITE_SHIFT, writer >> SITE_SHIFT, segment, word, lane_bit(id), WRITE)
    stamp(warp, segment, WRITE, word, id)


@native
def check_readers(warp: Ptr[Warp], segment: Ptr[Segment], id: u32, word: i64, column: i64) -> void:
    """A write after a read of another warp."""
    if not unordered(warp, segment, column, word, id):
        return
    reader = site_at(segment, column, word)
    if id & ATOMIC != 0:
        report_global(warp, ATOMIC_READ, reader, id >> SITE_SHIFT, segment, word, lane_bit(id), column)
    elif is_mine(warp, segment, READ, word) and site_at(segment, READ, word) == reader:
        report_global(warp, GLOBAL_RMW, reader, id >> SITE_SHIFT, segment, word, lane_bit(id), column)
    else:
        report_global(warp, GLOBAL_RW, reader, id >> SITE_SHIFT, segment, word, lane_bit(id), column)


@native
def quiet_global(warp: Ptr[Warp], segment: Ptr[Segment], id: u32, first: i64, n: i32, per_lane: u32, writes: i32) -> b1:
    """No other lane wrote a word of a run in this launch, nor, when it is to be written, read it."""
    if first + i64((n + 7) & ~7) > i64((segment.n_bytes + 3) >> 2):
        return False  # sweeps go in steps of eight words
    if writes == 0:
        return untouched(warp, segment, WRITE, id, first, n, per_lane)
    return (
        untouched(warp, segment, WRITE, id, first, n, per_lane)
        and untouched(warp, segment, READ, id, first, n, per_lane)
        and untouched(warp, segment, READ_BEFORE, id, first, n, per_lane)
    )


@native
def untouched(warp: Ptr[Warp], segment: Ptr[Segment], column: i64, id: u32, first: i64, n: i32, per_lane: u32) -> b1:
    """The entries of a run are empty or of the same lane that accesses it now."""
    block = splat8(u32(warp.block.linear) + 1)
    blocks = entry(segment, column, first)
    ids = entry(segment, column + ID, first)
    zero = splat8(0)
    hits = zero
    for base in range(0, i64(n), 8):
        index = counting8() + splat8(base)
        new = splat8(id) + ((index >> splat8(per_lane)) << splat8(LANE_SHIFT))
        owner = load8(blocks + base)
        same = equal8(owner, block) & equal8((load8(ids + base) ^ new) & splat8(ALONE), zero)
        hits = hits | (less8(index, splat8(n)) & ~(equal8(owner, zero) | same))
    return not any8(hits)


@native
def keep_readers(warp: Ptr[Warp], segment: Ptr[Segment], id: u32, first: i64, n: i32) -> void:
    """Readers of other warps move to the second place, before new ones take the first."""
    block = splat8(u32(warp.block.linear) + 1)
    zero = splat8(0)
    for base in range(0, i64(n), 8):
        owner = load8(entry(segment, READ, first + base))
        changed = (load8(entry(segment, READ + ID, first + base)) ^ splat8(id)) & splat8(31 << WARP_SHIFT)
        mine = equal8(owner, zero) | (equal8(owner, block) & equal8(changed, zero))
        moves = less8(counting8() + splat8(base), splat8(n)) & ~mine
        if any8(moves):
            for part in range(4):
                older = entry(segment, READ_BEFORE + part, first + base)
                store8(older, select8(moves, load8(entry(segment, READ + part, first + base)), load8(older)))


@native
def fill_entries(
    warp: Ptr[Warp], segment: Ptr[Segment], column: i64, first: i64, n: i32, id: u32, per_lane: u32
) -> void:
    """Notes the access at hand for `n` neighbouring words, 2 ** `per_lane` a lane from the lane of `id` on."""
    block = splat8(u32(warp.block.linear) + 1)
    clock = splat8(u32(warp.block.launch.race_epoch))
    epoch = splat8(u32(warp.block.epoch))
    for base in range(0, i64(n), 8):
        blocks = entry(segment, column, first + base)
        clocks = entry(segment, column + CLOCK, first + base)
        epochs = entry(segment, column + EPOCH, first + base)
        ids = entry(segment, column + ID, first + base)
        index = counting8() + splat8(base)
        inside = less8(index, splat8(n))
        new = splat8(id) + ((index >> splat8(per_lane)) << splat8(LANE_SHIFT))
        store8(blocks, select8(inside, block, load8(blocks)))
        store8(clocks, select8(inside, clock, load8(clocks)))
        store8(epochs, select8(inside, epoch, load8(epochs)))
        store8(ids, select8(inside, new, load8(ids)))
