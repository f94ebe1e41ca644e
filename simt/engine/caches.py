"""Caches of a GPU that traced requests go through, for estimates: L1 of each SM, one L2, and what DRAM then moves.

Lines of 128 bytes hold four sectors of 32, are found by set and replaced by age. L1 keeps what loads bring; stores and
atomics go on to L2, which notes the bytes written. DRAM reads pairs of sectors (64 bytes): `copy_stride s=16` of
tests/golden/ncu/sm_90/truth.json reads the whole array although it uses every other sector. A sector that leaves L2 with
only some of its bytes written has to be read first.
"""

from __future__ import annotations

from simt.engine.native import inlined, native
from simt.engine.records import Array, Ptr, Record, i32, i64, u32, u64, void
from simt.engine.state import Access
from simt.engine.trace_records import TraceRecord

__all__ = ["CACHES", "WAYS", "Caches", "Line"]

WAYS = 16


class Line(Record):
    """One line of either cache; `written` holds a bit for each byte of a sector."""

    tag: i64  # 0: empty
    age: i64
    asked: i64  # turn in which L2 asked DRAM for a part of it last
    valid: i32
    written: Array[u32, 4]


class Caches(Record):
    """All caches of one run. `counts` has a row for each site, with the columns of `simt.model.caches`; the rest is of the
    whole run. Requests of one turn are at the caches at the same time.
    """

    l1: Ptr[Line]
    l2: Ptr[Line]
    l1_sets: i64
    l2_sets: i64
    clock: i64
    turn: i64
    counts: Ptr[u64]
    access: Ptr[i32]
    n_bytes: Ptr[i32]
    used: Ptr[Ptr[Line]]  # lines of L2 that hold something
    n_used: i64
    dram_read: i64  # sectors
    dram_written: i64
    dram_filled: i64


class Piece(Record):
    """The part of a request that lies in one line."""

    line: i64
    sectors: i32
    lanes: i32
    written: Array[u32, 4]


@inlined
@native
def find_line(lines: Ptr[Line], sets: i64, line: i64) -> Ptr[Line]:
    """The way that holds a line, else the oldest of its set."""
    mixed = u64(line) * 0x9E3779B97F4A7C15
    first = lines + i64((mixed >> 20) % u64(sets)) * WAYS
    oldest = first
    for way in range(WAYS):
        here = first + way
        if here.tag == line:
            return here
        if here.age < oldest.age:
            oldest = here
    return oldest


@native
def evict(caches: Ptr[Caches], line: Ptr[Line]) -> void:
    """Writes back what L2 holds; partly written sectors are read first."""
    for sector in range(4):
        bytes_written = line.written[sector]
        if bytes_written != 0:
            caches.dram_written += 1
            if bytes_written != 0xFFFFFFFF and (line.valid >> i32(sector)) & 1 == 0:
                caches.dram_filled += 1


@native
def take_l2(caches: Ptr[Caches], tag: i64) -> Ptr[Line]:
    """The line in L2, made room for when it is not there."""
    line = find_line(caches.l2, caches.l2_sets, tag)
    if line.tag != tag:
        if line.tag != 0:
            evict(caches, line)
        else:
            caches.used[caches.n_used] = line
            caches.n_used += 1
        line.tag = tag
        line.valid = 0
        line.asked = 0
        memset(addr(line.written), 0, 16)
    line.age = caches.clock
    return line


@native
def read_l2(caches: Ptr[Caches], tag: i64, sectors: i32, row: Ptr[u64]) -> void:
    line = take_l2(caches, tag)
    missing = sectors & ~line.valid
    found = u64(popcount(u32(sectors & line.valid)))
    row[4] += found
    if line.asked == caches.turn:
        row[6] += found
    if missing != 0:
        line.asked = caches.turn
    row[5] += u64(popcount(u32(missing)))
    pairs: i32 = 0
    if missing & 3 != 0:
        pairs |= 3
    if missing & 12 != 0:
        pairs |= 12
    caches.dram_read += i64(popcount(u32(pairs & ~line.valid)))
    line.valid = line.valid | pairs


@native
def write_l2(caches: Ptr[Caches], piece: Ptr[Piece]) -> void:
    line = take_l2(caches, piece.line)
    for sector in range(4):
        line.written[sector] = line.written[sector] | piece.written[sector]
        if line.written[sector] == 0xFFFFFFFF:
            line.valid = line.valid | (i32(1) << i32(sector))


@native
def read_l1(caches: Ptr[Caches], sm: i64, piece: Ptr[Piece], row: Ptr[u64]) -> void:
    line = find_line(caches.l1 + sm * caches.l1_sets * WAYS, caches.l1_sets, piece.line)
    if line.tag != piece.line:
        line.tag = piece.line
        line.valid = 0
    line.age = caches.clock
    missing = piece.sectors & ~line.valid
    row[3] += u64(popcount(u32(piece.sectors & line.valid)))
    line.valid = line.valid | piece.sectors
    if missing != 0:
        read_l2(caches, piece.line, missing, row)


@native
def split(record: Ptr[TraceRecord], n_bytes: i32, pieces: Ptr[Piece]) -> i32:
    """The lines of a request, each with its sectors and bytes."""
    count: i32 = 0
    lanes = record.mask
    while lanes != 0:
        lane = trailing_zeros(lanes)
        lanes &= lanes - 1
        address = record.addresses[lane]
        line = i64(address >> 7)
        at = count - 1
        while at >= 0 and (pieces + at).line != line:
            at -= 1
        if at < 0:
            at = count
            count += 1
            memset(pieces + at, 0, 32)
            (pieces + at).line = line
        sector = i32(address >> 5) & 3
        piece = pieces + at
        piece.lanes += 1
        piece.sectors = piece.sectors | (i32(1) << sector)
        filled = i32(32) - i32(address & 31)
        width = min(n_bytes, filled)
        bits: u32 = 0xFFFFFFFF
        if width < 32:
            bits = (u32(1) << u32(width)) - 1
        piece.written[sector] = piece.written[sector] | (bits << u32(address & 31))
    return count


@native
def send_requests(
    caches: Ptr[Caches],
    records: Ptr[TraceRecord],
    order: Ptr[i64],
    sms: Ptr[i64],
    private: Ptr[i64],
    turns: Ptr[i64],
    n: i64,
) -> void:
    """Sends requests through the caches in the given order; `private` is added to each line, to keep SMs apart."""
    pieces = cast(Ptr[Piece], local(i64, 128))  # 32 of 32 bytes
    for number in range(n):
        record = records + order[number]
        caches.clock += 1
        caches.turn = turns[order[number]] + 1  # of empty lines it is 0
        row = caches.counts + i64(record.site) * 7
        access = caches.access[record.site]
        count = split(record, caches.n_bytes[record.site], pieces)
        row[0] += 1
        row[1] += u64(count)
        for index in range(count):
            piece = pieces + index
            piece.line += private[order[number]]
            row[2] += u64(popcount(u32(piece.sectors)))
            if access == Access.LOAD:
                read_l1(caches, sms[order[number]], piece, row)
            elif access == Access.STORE:
                write_l2(caches, piece)
            else:
                read_l2(caches, piece.line, piece.sectors, row)
                write_l2(caches, piece)


@native
def flush_caches(caches: Ptr[Caches]) -> void:
    """Everything written goes to DRAM."""
    for index in range(caches.n_used):
        evict(caches, caches.used[index])


CACHES = (send_requests, flush_caches)
