"""The distinct words of a request's pattern as runs of neighbours, so that shadows are swept instead of walked by lane.

A run is `run_words[r]` words from `run_first[r]` (relative to the first active lane's word). Either each lane has its own words,
lane `run_lane[r]` the first ones and its successors the next, or every word belongs to several lanes (`run_several`).
Patterns that mix both, and accesses narrower than a word, have no runs and are walked.
"""

from __future__ import annotations

from simt.engine.native import native
from simt.engine.pattern import FAR, access_bytes
from simt.engine.records import Ptr, b1, i32, i64, u64
from simt.engine.state import Site

__all__ = ["runs_of"]

MAX_RUNS = 32


@native
def runs_of(site: Ptr[Site]) -> i32:
    """How many runs the pattern has; 0 means that it has to be walked by lane.

    They are found when a pattern comes a second time: scattered addresses change with every request.
    """
    if site.run_count < 0:
        site.run_count += 1
        if site.run_count == 0:
            site.run_count = find_runs(site)
            if site.run_count == 0:
                site.run_count = MAX_RUNS + 1
        else:
            return 0
    return site.run_count if site.run_count <= MAX_RUNS else 0


@native
def find_runs(site: Ptr[Site]) -> i32:
    n_bytes = access_bytes(site)
    if n_bytes < 4 or site.pattern_align & 3 != 0 or site.pattern_shape == FAR:
        return 0
    again = local(u64, 64)  # per run 128 bits: words met more than once
    for index in range(64):
        again[index] = 0
    per_lane = n_bytes >> 2
    n_runs: i32 = 0
    last: i32 = -2
    lanes = site.pattern_mask
    while lanes != 0:
        lane = i32(trailing_zeros(lanes))
        first = site.pattern[lane] >> 2
        if not met_before(site, n_runs, first, again, per_lane):
            n_runs = extend_runs(site, n_runs, first, lane, lane == last + 1, per_lane)
            last = lane
        lanes &= lanes - 1
    return n_runs if all_alike(site, n_runs, again) else 0


@native
def met_before(site: Ptr[Site], n_runs: i32, first: i64, again: Ptr[u64], per_lane: i32) -> b1:
    """An earlier lane has the same words; accesses of one size and alignment coincide or are apart."""
    for run in range(n_runs):
        at = first - site.run_first[run]
        if at >= 0 and at < i64(site.run_words[run]):
            for word in range(per_lane):
                bit = u64(at) + u64(word)
                again[u64(run) * 2 + (bit >> 6)] |= u64(1) << (bit & 63)
            return True
    return False


@native
def extend_runs(site: Ptr[Site], n_runs: i32, first: i64, lane: i32, follows: b1, per_lane: i32) -> i32:
    """Adds a lane's words to the last run when they continue it, else as a new run; answers how many there are."""
    if n_runs > 0 and follows:
        end = site.run_first[n_runs - 1] + i64(site.run_words[n_runs - 1])
        if first == end:
            site.run_words[n_runs - 1] += per_lane
            return n_runs
    site.run_first[n_runs] = first
    site.run_words[n_runs] = per_lane
    site.run_lane[n_runs] = lane
    return n_runs + 1


@native
def all_alike(site: Ptr[Site], n_runs: i32, again: Ptr[u64]) -> b1:
    """Every run's words belong to one lane each, or every one to several; tells which in `run_several`."""
    for run in range(n_runs):
        shared = i32(popcount(again[run * 2]) + popcount(again[run * 2 + 1]))
        if shared != 0 and shared != site.run_words[run]:
            return False
        site.run_several[run] = i32(shared != 0)
    return True
