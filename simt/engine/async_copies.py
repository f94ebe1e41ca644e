"""cp.async: copies that land in shared memory when the thread that made them waits for their group.

A copy reads its source at once and keeps the bytes in the warp's ring of flights; they reach shared memory at the wait, as
late as the hardware may let them, so that a missing wait shows. Until then `Block.flights` holds the copy's number at each
word it will fill, and whoever reads or stores there is told. A ring that is full lets its oldest copies land early.
"""

from __future__ import annotations

from simt.engine.copy_records import Flight
from simt.engine.flying import FLIGHTS, flight_at, number_of, report_flight
from simt.engine.lanewise import outside, reach, refuse
from simt.engine.mbarriers import arrive_at, mbarrier_at, start_mbarriers
from simt.engine.memory import load
from simt.engine.native import native, rare
from simt.engine.pattern import access_bytes
from simt.engine.proxies import note_written_lane, start_proxies
from simt.engine.races import watched, write_lane_at
from simt.engine.races_log import shared_write_comes
from simt.engine.races_shared import READ_EPOCH, READ_SYNC, READER, check_after_read, column, make_id
from simt.engine.records import Ptr, i32, i64, u8, u32, u64, void
from simt.engine.segments import aim
from simt.engine.shadow import WRITTEN, lane_mark
from simt.engine.state import Block, CheckBit, Scope, Site, Warp
from simt.engine.warps import warp_of
from simt.engine.wgmma_rules import overwrite_reading

__all__ = ["COPIES", "land_arrivals", "start_copies"]


@native
def start_copies(block: Ptr[Block]) -> void:
    """A block begins: nothing is in flight."""
    memset(cast(Ptr[u8], block.flights), 0, (block.launch.shared_bytes + 3) // 4 * 4)
    block.n_flying = 0
    block.first_bulk = 0
    block.next_bulk = 0
    block.landings = 0
    start_mbarriers(block)
    start_proxies(block, (block.launch.shared_bytes + 3) // 4)
    for index in range(block.n_warps):
        warp = warp_of(block, index)
        warp.first_flight = 0
        warp.next_flight = 0
        memset(cast(Ptr[u8], addr(warp.commits)), 0, 128)
        memset(cast(Ptr[u8], addr(warp.bulk_commits)), 0, 128)
        memset(cast(Ptr[u8], addr(warp.bulk_waits)), 0, 128)
        memset(cast(Ptr[u8], addr(warp.bulk_waited_commits)), 0, 128)
        warp.seen = 0
        warp.awaits = 0
        warp.spared = 0
        memset(cast(Ptr[u8], addr(warp.waits)), 0, 128)
        memset(cast(Ptr[u8], addr(warp.waited_commits)), 0, 128)


@native
def new_flight(warp: Ptr[Warp]) -> Ptr[Flight]:
    """An empty flight at the ring's end."""
    if warp.next_flight - warp.first_flight == FLIGHTS:
        oldest = flight_at(warp, warp.first_flight)
        while oldest.pending != 0:
            land_lane(warp, oldest, trailing_zeros(oldest.pending))
        warp.first_flight += 1
    flight = flight_at(warp, warp.next_flight)
    warp.next_flight += 1
    flight.pending = 0
    flight.slot = (warp.next_flight - 1) & (FLIGHTS - 1)
    return flight


@native
def copy_async(
    warp: Ptr[Warp],
    source: Ptr[Site],
    target: Ptr[Site],
    mask: u32,
    sources: Ptr[u64],
    targets: Ptr[u64],
    wanted: Ptr[u32],
) -> void:
    """A warp's request: every active lane copies `wanted` bytes and zeros after them."""
    if mask == 0:
        return
    flight = new_flight(warp)
    flight.n_bytes = access_bytes(target)
    flight.site = target.index
    read_sources(warp, source, mask, sources, wanted, addr(flight.data))
    lanes = mask
    while lanes != 0:
        lane = trailing_zeros(lanes)
        lanes &= lanes - 1
        if is_null(reach(warp, target, u32(1) << lane, targets[lane])):
            continue
        flight.offsets[lane] = u32(target.aim_offset)
        flight.groups[lane] = warp.commits[lane]
        flight.waits[lane] = warp.waits[lane]
        flight.pending |= u32(1) << lane
        take_off(warp, target, flight, lane)


@native
def read_sources(
    warp: Ptr[Warp], site: Ptr[Site], mask: u32, sources: Ptr[u64], wanted: Ptr[u32], data: Ptr[u8]
) -> void:
    """The bytes of all lanes; a lane that wants fewer than the whole gets zeros behind them."""
    n_bytes = access_bytes(site)
    memset(data, 0, 512)
    whole: u32 = 0
    lanes = mask
    while lanes != 0:
        lane = trailing_zeros(lanes)
        if wanted[lane] >= u32(n_bytes):
            whole |= u32(1) << lane
        lanes &= lanes - 1
    if whole != 0:
        load(warp, site, whole, sources, data)
    lanes = mask & ~whole
    while lanes != 0:
        lane = trailing_zeros(lanes)
        if wanted[lane] != 0:
            read_part(warp, site, u32(1) << lane, sources[lane], i64(wanted[lane]), data + i32(lane) * n_bytes)
            site.counts[0] += u64(whole == 0)
            site.counts[1] += 1
            whole = mask
        lanes &= lanes - 1


@rare
@native
def read_part(warp: Ptr[Warp], site: Ptr[Site], lane: u32, address: u64, wanted: i64, out: Ptr[u8]) -> void:
    """One lane reads the first bytes of its copy."""
    host = aim(warp, site, Scope.GLOBAL, address, trailing_zeros(lane))
    site.counts[3] += u64(wanted)
    if is_null(host) or site.aim_bytes - site.aim_offset < u64(wanted):
        refuse(warp, site, lane, address, outside(site, Scope.GLOBAL, address))
        return
    memcpy(out, host, wanted)


@native
def take_off(warp: Ptr[Warp], target: Ptr[Site], flight: Ptr[Flight], lane: u32) -> void:
    """Marks the words that one lane's copy will fill; what other threads did there since the barrier may race with it."""
    block = warp.block
    checks = block.launch.checks
    first = i64(flight.offsets[lane] >> 2)
    id = make_id(warp, target, lane, 15, 0)
    if checks & CheckBit.RACE_SHARED:
        shared_write_comes(warp)
    if not is_null(block.readings):
        overwrite_reading(warp, target, u32(1) << lane, u64(flight.offsets[lane]), u64(flight.n_bytes))
    for word in range(first, first + (flight.n_bytes >> 2)):
        if checks & CheckBit.FLIGHTS:
            if block.flights[word] != 0:
                report_flight(warp, target, u32(1) << lane, word)
            else:
                block.n_flying += 1
            block.flights[word] = number_of(warp, flight, lane)
        if checks & CheckBit.RACE_SHARED:
            if column(warp, READ_EPOCH)[word] == u32(block.epoch):
                check_after_read(warp, id, column(warp, READER)[word], column(warp, READ_SYNC)[word], word)


@native
def land_lane(warp: Ptr[Warp], flight: Ptr[Flight], lane: u32) -> void:
    """One lane's bytes reach shared memory: for racecheck its thread writes them now."""
    flight.pending &= ~(u32(1) << lane)
    block = warp.block
    n_bytes = flight.n_bytes
    target: Ptr[Site] = warp.thread.sites + flight.site
    if n_bytes == 0:
        arrive_at(warp, target, block.mbarriers + i64(flight.offsets[lane] >> 3), lane, 1)
        return
    offset = i64(flight.offsets[lane])
    host: Ptr[u8] = block.shared + offset
    new: Ptr[u8] = addr(flight.data) + i32(lane) * n_bytes
    if watched(warp, target, Scope.SHARED):
        shared_write_comes(warp)
        write_lane_at(warp, target, lane, Scope.SHARED, 0, u64(offset), host, new)
    if block.launch.checks & CheckBit.INITCHECK:
        lane_mark(block.shared_words, u64(offset), n_bytes, WRITTEN)
    memcpy(host, new, n_bytes)
    if block.launch.checks & CheckBit.PROXIES:
        note_written_lane(warp, target, u64(offset), i64(n_bytes))
    if block.launch.checks & CheckBit.FLIGHTS:
        number = number_of(warp, flight, lane)
        for word in range(offset >> 2, (offset + i64(n_bytes)) >> 2):
            if block.flights[word] == number:
                block.flights[word] = 0
                block.n_flying -= 1


@native
def commit_copies(warp: Ptr[Warp], mask: u32) -> void:
    """`cp.async.commit_group`: groups are counted thread by thread."""
    for lane in range(32):
        warp.commits[lane] += (mask >> u32(lane)) & u32(1)


@native
def wait_copies(warp: Ptr[Warp], mask: u32, left: u32, everything: i32) -> void:
    """All but the latest `left` groups of each lane land; with `everything` what was not committed too."""
    if everything != 0:
        commit_copies(warp, mask)
    for index in range(32):
        if (mask >> u32(index)) & 1:
            warp.waits[index] += 1
            warp.waited_commits[index] = warp.commits[index]
            warp.waited_left[index] = left
    number = warp.first_flight
    while number != warp.next_flight:
        flight = flight_at(warp, number)
        number += 1
        lanes = flight.pending & mask
        while lanes != 0:
            lane = trailing_zeros(lanes)
            if flight.n_bytes != 0 and u64(flight.groups[lane]) + u64(left) < u64(warp.commits[lane]):
                land_lane(warp, flight, lane)
            lanes &= lanes - 1
    drop_landed_flights(warp)


@native
def drop_landed_flights(warp: Ptr[Warp]) -> void:
    while warp.first_flight != warp.next_flight and flight_at(warp, warp.first_flight).pending == 0:
        warp.first_flight += 1


@native
def arrive_after_copies(warp: Ptr[Warp], site: Ptr[Site], mask: u32, counted: i32, addresses: Ptr[u64]) -> void:
    """`cp.async.mbarrier.arrive`: the arrival stands behind the lane's copies; unless it is counted it is one more."""
    if mask == 0:
        return
    flight = new_flight(warp)
    flight.n_bytes = 0
    flight.site = site.index
    lanes = mask
    while lanes != 0:
        lane = trailing_zeros(lanes)
        lanes &= lanes - 1
        barrier = mbarrier_at(warp, site, lane, addresses[lane])
        if is_null(barrier):
            continue
        if counted == 0:
            barrier.pending += 1
        flight.offsets[lane] = u32(site.aim_offset)
        flight.pending |= u32(1) << lane


@native
def land_arrivals(block: Ptr[Block], barrier: u32) -> void:
    """Somebody looks at an mbarrier: copies whose arrival there is still to come land, and it comes."""
    for index in range(block.n_warps):
        warp = warp_of(block, index)
        number = warp.first_flight
        while number != warp.next_flight:
            flight = flight_at(warp, number)
            lanes = flight.pending
            while flight.n_bytes == 0 and lanes != 0:
                lane = trailing_zeros(lanes)
                lanes &= lanes - 1
                if flight.offsets[lane] == barrier:
                    land_until(warp, number, lane)
            number += 1
        drop_landed_flights(warp)


@native
def land_until(warp: Ptr[Warp], last: u32, lane: u32) -> void:
    """One lane's copies up to an arrival land, and it arrives; its earlier arrivals keep their time."""
    number = warp.first_flight
    while number != last:
        flight = flight_at(warp, number)
        if flight.n_bytes != 0 and (flight.pending >> lane) & 1:
            land_lane(warp, flight, lane)
        number += 1
    land_lane(warp, flight_at(warp, last), lane)


COPIES = (copy_async, commit_copies, wait_copies, arrive_after_copies)
