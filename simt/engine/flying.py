"""Words of shared memory that an asynchronous copy is still to fill, and who touches them too early.

`Block.flights` holds per word the number of the copy that fills it, 0 for none. The reason why it has not landed, for the
message, is one of `WHY`: what its own thread did since.
"""

from __future__ import annotations

import enum

from simt.engine.copy_records import Bulk, Flight
from simt.engine.findings import OVERWRITTEN, READ_IN_FLIGHT, UNCOMMITTED, record
from simt.engine.native import native, rare
from simt.engine.pattern import access_bytes
from simt.engine.records import Ptr, b1, i32, i64, u32, u64, void
from simt.engine.state import Access, Site, Warp
from simt.engine.warps import warp_of

__all__ = [
    "BULK", "BULK_MARK", "FLIGHTS", "SOURCE", "SOURCE_MARK", "BulkState", "Why", "flight_at", "in_flight", "number_of",
    "report_flight", "touch_at", "touch_flights",
]  # fmt: skip

FLIGHTS = 256  # of a warp's ring, a power of two
BULK = 1 << 31  # marks the number of a bulk copy, which counts the places of its block
SOURCE = 1 << 30  # marks a word that a bulk store is still to read
BULK_MARK = 1 << 32  # in a finding's `high`: it is of a bulk copy
SOURCE_MARK = 1 << 33  # and of a store


class BulkState(enum.IntEnum):
    FREE = 0
    LOADING = 1  # into shared memory, with an mbarrier
    STORING = 2  # out of shared memory, in a group
    LANDED = 3  # a load that not every warp waited for


class Why(enum.IntEnum):
    """Why a copy is still in flight."""

    NO_WAIT = 0  # its thread has not waited since
    NO_COMMIT = 1  # it waited, but the copy was in no group
    WAIT_BEFORE_COMMIT = 2  # it waited, and committed the copy only then
    WAIT_LEFT_IT = 3  # its wait left so many of the latest groups in flight
    BULK = 4  # nobody waited at the mbarrier of the bulk load since
    PRODUCT = 5  # no copy: a wgmma that still reads there
    WRONG_PHASE = 6  # somebody did, but for a phase that was over
    UNSEEN = 7  # others waited, this warp neither did nor met them at a barrier


@native
def flight_at(warp: Ptr[Warp], number: u32) -> Ptr[Flight]:
    """Where the copy with this number is kept; the oldest one's place is used again."""
    return warp.flights + (number & (FLIGHTS - 1))


@native
def number_of(warp: Ptr[Warp], flight: Ptr[Flight], lane: u32) -> u32:
    """How `Block.flights` calls one lane's copy; never 0."""
    return (u32(warp.index) * FLIGHTS + flight.slot) * 32 + lane + 1


@native
def bulk_of(warp: Ptr[Warp], number: u32) -> Ptr[Bulk]:
    return warp.block.bulks + (number & (SOURCE - 1))


@native
def in_flight(warp: Ptr[Warp], site: Ptr[Site], number: u32) -> b1:
    """Whether an access to a word with this mark comes too early."""
    if number & BULK == 0:
        return True
    if number & SOURCE:
        return site.access != Access.LOAD
    bulk = bulk_of(warp, number)
    return bulk.state != BulkState.LANDED or bulk.landed > warp.seen


@rare
@native
def report_bulk(warp: Ptr[Warp], site: Ptr[Site], lanes: u32, word: i64) -> void:
    """Lanes touch a word that a bulk load fills, or that a bulk store is still to read."""
    number = warp.block.flights[word]
    bulk = bulk_of(warp, number)
    bulk.told = 1
    check: i32 = READ_IN_FLIGHT
    if site.access != Access.LOAD:
        check = OVERWRITTEN
    why: i32 = Why.BULK
    detail: u64 = BULK_MARK
    if number & SOURCE:
        copier = warp_of(warp.block, bulk.warp)
        lane = bulk.lane
        waited = copier.bulk_waited_commits[lane]
        why = reason(bulk.group, bulk.waits, copier.bulk_commits[lane], copier.bulk_waits[lane], waited)
        detail = detail | SOURCE_MARK | u64(copier.bulk_waited_left[lane])
    elif bulk.state == BulkState.LANDED:
        why = Why.UNSEEN
    else:
        barrier = warp.block.mbarriers + i64(bulk.barrier >> 3)
        if barrier.idle_site >= 0:
            why = Why.WRONG_PHASE
            detail = detail | u64(u32(barrier.idle_parity))
    record(warp, check, site.index, bulk.site, lanes, u64(word) * 4, u64(why), detail)


@native
def reason(group: u32, before: u32, commits: u32, waits: u32, waited: u32) -> i32:
    """Why a copy of `group`, begun after `before` waits, is still in flight: one of `Why`."""
    if waits == before:
        return Why.NO_WAIT
    if commits == group:
        return Why.NO_COMMIT
    if waited <= group:
        return Why.WAIT_BEFORE_COMMIT
    return Why.WAIT_LEFT_IT


@rare
@native
def report_flight(warp: Ptr[Warp], site: Ptr[Site], lanes: u32, word: i64) -> void:
    """Lanes touch a word that a copy is still to fill."""
    if warp.block.flights[word] & BULK:
        report_bulk(warp, site, lanes, word)
        return
    number = warp.block.flights[word] - 1
    check: i32 = READ_IN_FLIGHT
    if site.access != Access.LOAD:
        check = OVERWRITTEN
    copier = warp_of(warp.block, i32((number >> 5) // FLIGHTS))
    flight = copier.flights + ((number >> 5) & (FLIGHTS - 1))
    thread = number & 31
    waited = copier.waited_commits[thread]
    why = reason(flight.groups[thread], flight.waits[thread], copier.commits[thread], copier.waits[thread], waited)
    if site.access == Access.LOAD and why == Why.NO_COMMIT:
        check = UNCOMMITTED
    record(warp, check, site.index, flight.site, lanes, u64(word) * 4, u64(why), u64(copier.waited_left[thread]))


@native
def touch_at(warp: Ptr[Warp], site: Ptr[Site], lanes: u32, offset: u64) -> u32:
    """The lanes when their access at one offset touches a word in flight, after telling, else 0."""
    for word in range(i64(offset >> 2), i64((offset + u64(access_bytes(site)) + 3) >> 2)):
        if warp.block.flights[word] != 0 and in_flight(warp, site, warp.block.flights[word]):
            report_flight(warp, site, lanes, word)
            return lanes
    return 0


@rare
@native
def touch_flights(warp: Ptr[Warp], site: Ptr[Site], mask: u32) -> u32:
    """Lanes of a request to shared memory, which `place` accepted, that touch words in flight."""
    hits: u32 = 0
    lanes = mask
    while lanes != 0:
        lane = trailing_zeros(lanes)
        hits |= touch_at(warp, site, u32(1) << lane, site.aim_offset + u64(site.pattern[lane]))
        lanes &= lanes - 1
    return hits
