"""Words of shared memory that an asynchronous copy is still to fill, and who touches them too early.

`Block.flights` holds per word the number of the copy that fills it, 0 for none. The reason why it has not landed, for the
message, is one of `WHY`: what its own thread did since.
"""

from __future__ import annotations

import enum

from simt.engine.findings import OVERWRITTEN, READ_IN_FLIGHT, UNCOMMITTED, record
from simt.engine.native import native, rare
from simt.engine.pattern import access_bytes
from simt.engine.records import Ptr, i32, i64, u32, u64, void
from simt.engine.state import Access, Flight, Site, Warp

__all__ = ["BULK", "FLIGHTS", "Why", "flight_at", "number_of", "report_flight", "touch_at", "touch_flights"]

FLIGHTS = 256  # of a warp's ring, a power of two
BULK = 1 << 31  # marks the number of a bulk copy, which counts the places of its block


class Why(enum.IntEnum):
    """Why a copy is still in flight."""

    NO_WAIT = 0  # its thread has not waited since
    NO_COMMIT = 1  # it waited, but the copy was in no group
    WAIT_BEFORE_COMMIT = 2  # it waited, and committed the copy only then
    BULK = 4  # nobody looked at the mbarrier of the bulk copy since
    WAIT_LEFT_IT = 3  # its wait left so many of the latest groups in flight
    PRODUCT = 5  # no copy: a wgmma that still reads there


@native
def flight_at(warp: Ptr[Warp], number: u32) -> Ptr[Flight]:
    return warp.flights + (number & (FLIGHTS - 1))


@native
def number_of(warp: Ptr[Warp], flight: Ptr[Flight], lane: u32) -> u32:
    """How `Block.flights` calls one lane's copy; never 0."""
    return (u32(warp.index) * FLIGHTS + flight.slot) * 32 + lane + 1


@rare
@native
def report_flight(warp: Ptr[Warp], site: Ptr[Site], lanes: u32, word: i64) -> void:
    """Lanes touch a word that a copy is still to fill."""
    number = warp.block.flights[word] - 1
    check: i32 = READ_IN_FLIGHT
    if site.access != Access.LOAD:
        check = OVERWRITTEN
    if warp.block.flights[word] & BULK:
        bulk = warp.block.bulks + (warp.block.flights[word] & ~u32(BULK))
        record(warp, check, site.index, bulk.site, lanes, u64(word) * 4, u64(Why.BULK), 0)
        return
    copier: Ptr[Warp] = cast(Ptr[Warp], warp.block.warps) + (number >> 5) // FLIGHTS
    flight = copier.flights + ((number >> 5) & (FLIGHTS - 1))
    thread = number & 31
    why: i32 = Why.NO_WAIT
    if copier.waits[thread] != flight.waits[thread]:
        if copier.commits[thread] == flight.groups[thread]:
            why = Why.NO_COMMIT
        elif copier.waited_commits[thread] <= flight.groups[thread]:
            why = Why.WAIT_BEFORE_COMMIT
        else:
            why = Why.WAIT_LEFT_IT
    if site.access == Access.LOAD and why == Why.NO_COMMIT:
        check = UNCOMMITTED
    record(warp, check, site.index, flight.site, lanes, u64(word) * 4, u64(why), u64(copier.waited_left[thread]))


@native
def touch_at(warp: Ptr[Warp], site: Ptr[Site], lanes: u32, offset: u64) -> u32:
    """The lanes when their access at one offset touches a word in flight, after telling, else 0."""
    for word in range(i64(offset >> 2), i64((offset + u64(access_bytes(site)) + 3) >> 2)):
        if warp.block.flights[word] != 0:
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
