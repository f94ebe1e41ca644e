"""Racecheck of shared memory: who wrote and read each word since the block's last barrier.

Six columns of u32, one entry per 4-byte word each: of the last writer and of the readers the barrier epoch, the warp's own
epoch of synchronisation, and an `id` of site, lane, warp and the bytes touched. An entry of an older epoch says nothing,
so blocks that reuse the memory need no clearing. Neighbouring words that nobody touched in this epoch are settled in one
sweep; everything else is looked at word by word.
"""

from __future__ import annotations

from simt.engine.findings import INTRA_WARP, SHARED_RAW, SHARED_WAR, SHARED_WAW, STORE_ATOMIC, record
from simt.engine.native import native
from simt.engine.records import Ptr, b1, i32, i64, u32, u64, void
from simt.engine.state import Site, Warp

__all__ = ["SHARED_COLUMNS", "quiet_shared", "read_shared", "sweep_read", "sweep_write", "write_shared"]

SHARED_COLUMNS = 6
WRITE_EPOCH, WRITE_SYNC, WRITER, READ_EPOCH, READ_SYNC, READER = range(SHARED_COLUMNS)

# An id: bytes touched in bits 0-3, then strong (volatile, atomic), atomic, warp, lane, several warps, several lanes (of the
# same bytes), parts (several lanes, each with bytes of its own: nothing is said of lanes then), site.
BYTES = 15
STRONG = 1 << 4
ATOMIC = 1 << 5
WARP_SHIFT = 6
LANE_SHIFT = 11
PLACE = 0x3FF << WARP_SHIFT  # warp and lane
OTHER_WARPS = 1 << 16
OTHER_LANES = 1 << 17
PARTS = 1 << 18
ALONE = PLACE | OTHER_WARPS | OTHER_LANES | PARTS  # equal here: the same single lane
SITE_SHIFT = 19
LAST_SITE = (1 << 13) - 1  # stands for itself and all beyond


@native
def make_id(warp: Ptr[Warp], site: Ptr[Site], lane: u32, bytes: u32, kind: u32) -> u32:
    number = min(u32(site.index), u32(LAST_SITE))
    return bytes | kind | (u32(warp.index) << WARP_SHIFT) | (lane << LANE_SHIFT) | (number << SITE_SHIFT)


@native
def site_of_id(number: u32) -> i32:
    """A site for a finding, -1 where it does not fit an id."""
    return i32(number) if number != LAST_SITE else -1


@native
def warp_of_id(id: u32) -> u32:
    return (id >> WARP_SHIFT) & 31


@native
def lane_of_id(id: u32) -> u32:
    return (id >> LANE_SHIFT) & 31


@native
def column(warp: Ptr[Warp], index: i64) -> Ptr[u32]:
    """First entry of a column."""
    return cast(Ptr[u32], warp.block.shared_races) + index * ((warp.block.launch.shared_bytes + 3) >> 2)


@native
def report_shared(warp: Ptr[Warp], check: i32, site: u32, also: u32, lanes: u32, word: i64) -> void:
    record(warp, check, site_of_id(site), site_of_id(also), lanes, u64(word) * 4, 0, 0)


@native
def read_shared(warp: Ptr[Warp], id: u32, lanes: u32, word: i64) -> void:
    """Lanes read (part of) a word."""
    epoch = u32(warp.block.epoch)
    sync = u32(warp.sync_epoch)
    if column(warp, WRITE_EPOCH)[word] == epoch:
        writer = column(warp, WRITER)[word]
        if writer & id & BYTES != 0:
            check_read(warp, id, lanes, writer, column(warp, WRITE_SYNC)[word], word)
    note_reader(warp, id, word, epoch, sync)


@native
def both_strong(one: u32, other: u32) -> b1:
    return one & other & STRONG != 0


@native
def check_read(warp: Ptr[Warp], id: u32, lanes: u32, writer: u32, written_at: u32, word: i64) -> void:
    others = lanes & ~(u32(1) << lane_of_id(writer))
    if warp_of_id(writer) != warp_of_id(id):
        if not both_strong(writer, id):
            report_shared(warp, SHARED_RAW, id >> SITE_SHIFT, writer >> SITE_SHIFT, lanes, word)
    elif writer & (ATOMIC | OTHER_LANES | PARTS) == 0 and others != 0 and written_at == u32(warp.sync_epoch):
        report_shared(warp, INTRA_WARP, id >> SITE_SHIFT, writer >> SITE_SHIFT, others, word)


@native
def note_reader(warp: Ptr[Warp], id: u32, word: i64, epoch: u32, sync: u32) -> void:
    """Adds a reader to the word's summary: the first warp that read it, its latest lane, and whether there were others."""
    place = column(warp, READER) + word
    known = place[0]
    if column(warp, READ_EPOCH)[word] != epoch:
        place[0] = id
    elif warp_of_id(known) != warp_of_id(id):
        if (known ^ id) & BYTES == 0:
            place[0] = known | OTHER_WARPS
        return
    else:
        together: u32 = known & (OTHER_WARPS | BYTES)
        if column(warp, READ_SYNC)[word] == sync:
            together |= known & (OTHER_LANES | PARTS)
            if lane_of_id(known) != lane_of_id(id):
                together |= select((known ^ id) & BYTES == 0, u32(OTHER_LANES), u32(PARTS))
        place[0] = id | together
    column(warp, READ_EPOCH)[word] = epoch
    column(warp, READ_SYNC)[word] = sync


@native
def write_shared(warp: Ptr[Warp], id: u32, word: i64, changes: b1) -> void:
    """One lane writes (part of) a word; `changes` says that memory held another value."""
    epoch = u32(warp.block.epoch)
    sync = u32(warp.sync_epoch)
    place = column(warp, WRITER) + word
    known = place[0]
    new = id
    if column(warp, WRITE_EPOCH)[word] == epoch:
        if known & id & BYTES != 0:
            check_overwrite(warp, id, known, column(warp, WRITE_SYNC)[word], word, changes)
        if warp_of_id(known) == warp_of_id(id) and known >> SITE_SHIFT == id >> SITE_SHIFT:
            new |= known & (OTHER_LANES | PARTS | BYTES)
            if lane_of_id(known) != lane_of_id(id):
                new |= select((known ^ id) & BYTES == 0, u32(OTHER_LANES), u32(PARTS))
    if column(warp, READ_EPOCH)[word] == epoch:
        check_after_read(warp, id, column(warp, READER)[word], column(warp, READ_SYNC)[word], word)
    place[0] = new
    column(warp, WRITE_EPOCH)[word] = epoch
    column(warp, WRITE_SYNC)[word] = sync


@native
def check_overwrite(warp: Ptr[Warp], id: u32, writer: u32, written_at: u32, word: i64, changes: b1) -> void:
    """Against the write before: atomic and plain never mix; two plain writes only when the value changes."""
    atomics = (writer & ATOMIC) + (id & ATOMIC)
    if atomics == 2 * ATOMIC:
        return
    if warp_of_id(writer) != warp_of_id(id):
        if both_strong(writer, id):
            return
        if atomics == 0:
            if changes:
                report_shared(warp, SHARED_WAW, id >> SITE_SHIFT, writer >> SITE_SHIFT, u32(1) << lane_of_id(id), word)
        elif id & ATOMIC != 0:
            report_shared(warp, STORE_ATOMIC, id >> SITE_SHIFT, writer >> SITE_SHIFT, u32(1) << lane_of_id(id), word)
        else:
            report_shared(warp, STORE_ATOMIC, writer >> SITE_SHIFT, id >> SITE_SHIFT, u32(1) << lane_of_id(id), word)
    elif lane_of_id(writer) != lane_of_id(id) and written_at == u32(warp.sync_epoch) and changes:
        if writer >> SITE_SHIFT != id >> SITE_SHIFT and writer & (OTHER_LANES | PARTS) == 0:
            report_shared(warp, INTRA_WARP, id >> SITE_SHIFT, writer >> SITE_SHIFT, u32(1) << lane_of_id(id), word)


@native
def check_after_read(warp: Ptr[Warp], id: u32, reader: u32, read_at: u32, word: i64) -> void:
    """Against the reads since the barrier."""
    if reader & id & BYTES == 0:
        return
    if warp_of_id(reader) != warp_of_id(id) or reader & OTHER_WARPS != 0:
        if not both_strong(reader, id):
            report_shared(warp, SHARED_WAR, id >> SITE_SHIFT, reader >> SITE_SHIFT, u32(1) << lane_of_id(id), word)
    elif id & ATOMIC == 0 and reader & PARTS == 0 and read_at == u32(warp.sync_epoch):
        if lane_of_id(reader) != lane_of_id(id) or reader & OTHER_LANES != 0:
            report_shared(warp, INTRA_WARP, id >> SITE_SHIFT, reader >> SITE_SHIFT, u32(1) << lane_of_id(id), word)


@native
def sweep_read(warp: Ptr[Warp], id: u32, first: i64, n: i32, per_lane: u32) -> b1:
    """Notes the reader of `n` neighbouring words, 2 ** `per_lane` a lane from the lane of `id` on, eight at a time.

    Answers whether another lane wrote one of them in this epoch: then the words are to be checked one by one.
    """
    n_words = (warp.block.launch.shared_bytes + 3) >> 2
    epoch = splat8(u32(warp.block.epoch))
    sync = splat8(u32(warp.sync_epoch))
    zero = splat8(0)
    hits = zero
    for base in range(0, i64(n), 8):
        written = column(warp, 0) + (first + base)
        readers = written + READER * n_words
        known = load8(readers)
        seen = load8(written + READ_EPOCH * n_words)
        when = load8(written + READ_SYNC * n_words)
        index = counting8() + splat8(base)
        inside = less8(index, splat8(n))
        new = splat8(id) + ((index >> splat8(per_lane)) << splat8(LANE_SHIFT))
        changed = known ^ new
        current = equal8(seen, epoch)
        same_warp = equal8(changed & splat8(31 << WARP_SHIFT), zero)
        same_lane = equal8(changed & splat8(PLACE), zero)
        whole = equal8(known & splat8(BYTES), splat8(BYTES))
        more = known & splat8(OTHER_LANES | PARTS)
        mixed = select8(same_lane, more, more | select8(whole, splat8(OTHER_LANES), splat8(PARTS)))
        stays = (known & splat8(OTHER_WARPS)) | (equal8(when, sync) & mixed)
        merged = select8(same_warp, new | stays, known | (whole & splat8(OTHER_WARPS)))
        alone = equal8((load8(written + WRITER * n_words) ^ new) & splat8(ALONE), zero)
        hits = hits | (equal8(load8(written), epoch) & inside & ~alone)
        store8(readers, select8(inside, select8(current, merged, new), known))
        store8(written + READ_SYNC * n_words, select8(inside & ~(current & ~same_warp), sync, when))
        store8(written + READ_EPOCH * n_words, select8(inside, epoch, seen))
    return any8(hits)


@native
def quiet_shared(warp: Ptr[Warp], id: u32, first: i64, n: i32, per_lane: u32) -> b1:
    """No other lane touched a word of a run in this epoch."""
    n_words = (warp.block.launch.shared_bytes + 3) >> 2
    epoch = splat8(u32(warp.block.epoch))
    zero = splat8(0)
    hits = zero
    for base in range(0, i64(n), 8):
        written = column(warp, 0) + (first + base)
        index = counting8() + splat8(base)
        new = splat8(id) + ((index >> splat8(per_lane)) << splat8(LANE_SHIFT))
        wrote = equal8((load8(written + WRITER * n_words) ^ new) & splat8(ALONE), zero)
        read = equal8((load8(written + READER * n_words) ^ new) & splat8(ALONE), zero)
        touched = equal8(load8(written), epoch) & ~wrote
        touched = touched | (equal8(load8(written + READ_EPOCH * n_words), epoch) & ~read)
        hits = hits | (touched & less8(index, splat8(n)))
    return not any8(hits)


@native
def sweep_write(warp: Ptr[Warp], id: u32, first: i64, n: i32, per_lane: u32) -> void:
    """As `sweep_read` for writes to words that were quiet."""
    n_words = (warp.block.launch.shared_bytes + 3) >> 2
    epoch = splat8(u32(warp.block.epoch))
    sync = splat8(u32(warp.sync_epoch))
    for base in range(0, i64(n), 8):
        written = column(warp, 0) + (first + base)
        syncs = written + WRITE_SYNC * n_words
        writers = written + WRITER * n_words
        index = counting8() + splat8(base)
        inside = less8(index, splat8(n))
        new = splat8(id) + ((index >> splat8(per_lane)) << splat8(LANE_SHIFT))
        store8(writers, select8(inside, new, load8(writers)))
        store8(syncs, select8(inside, sync, load8(syncs)))
        store8(written, select8(inside, epoch, load8(written)))
