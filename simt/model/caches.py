"""Sends sampled requests through the caches of `simt.engine.caches`: which sectors hit where, what DRAM has to move."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simt.codegen.runtime import runtime
from simt.engine.caches import WAYS, Caches, Line

__all__ = ["COLUMNS", "CacheRun", "CacheSizes", "run_caches"]

LINE_BYTES = 128
COLUMNS = ("requests", "lines", "sectors", "l1_hits", "l2_hits", "l2_misses", "l2_awaited")


@dataclass(frozen=True, slots=True)
class CacheSizes:
    """Bytes of one SM's L1, bytes of the L2 that the SMs of a run share, and how many SMs those are."""

    l1_bytes: int
    l2_bytes: int
    sm_count: int


@dataclass(frozen=True, slots=True)
class CacheRun:
    """What went where.

    Attributes:
        counts: (n_sites, 7) int64, as `COLUMNS`: sectors hit in L1, hit in L2, and missed by both; stores only to L2. Of
            those that hit in L2, some were still on their way from DRAM, as another request had just asked for them.
        dram_read, dram_written, dram_filled: sectors; those filled were written in part and read before.
    """

    counts: np.ndarray
    dram_read: int
    dram_written: int
    dram_filled: int


def run_caches(
    records: np.ndarray, order: np.ndarray, sms: np.ndarray, apart: np.ndarray, turns: np.ndarray, access: np.ndarray,
    n_bytes: np.ndarray, sizes: CacheSizes, *, cache: Path | None = None,
) -> CacheRun:  # fmt: skip
    """Sends traced requests through caches that start empty.

    Args:
        records: (n,) of the fields of `TraceRecord`, requests of global memory.
        order: (n,) int64, indices of `records` in the order of time.
        sms: (records,) int64, the SM of each record, below `sizes.sm_count`.
        apart: (records,) int64: requests of different numbers share no lines, whatever their addresses.
        turns: (records,) int64, from 0, of each record; requests of one turn are there at once.
        access, n_bytes: (n_sites,) int32: `Access`, and bytes of one lane.
        cache: folder that keeps machine code.
    """
    sets = [max(1, size // (LINE_BYTES * WAYS)) for size in (sizes.l1_bytes, sizes.l2_bytes)]
    line = ctypes.sizeof(Line.structure())
    l1 = np.zeros(sets[0] * WAYS * sizes.sm_count * line, np.uint8)
    l2 = np.zeros(sets[1] * WAYS * line, np.uint8)
    used = np.empty(sets[1] * WAYS, np.uint64)
    counts = np.zeros((len(access), len(COLUMNS)), np.uint64)
    caches = Caches.structure()()
    caches.l1, caches.l2, caches.l1_sets, caches.l2_sets = l1.ctypes.data, l2.ctypes.data, *sets
    caches.used = used.ctypes.data
    caches.counts, caches.access, caches.n_bytes = counts.ctypes.data, access.ctypes.data, n_bytes.ctypes.data
    keys = apart << 44  # above every line's number
    addresses, pointer = runtime(cache).addresses, ctypes.c_void_p
    run = ctypes.CFUNCTYPE(None, *[pointer] * 6, ctypes.c_int64)(addresses["send_requests"])
    arrays = (array.ctypes.data for array in (records, order, sms, keys, turns))
    run(ctypes.addressof(caches), *arrays, len(order))
    ctypes.CFUNCTYPE(None, pointer)(addresses["flush_caches"])(ctypes.addressof(caches))
    return CacheRun(counts.astype(np.int64), caches.dram_read, caches.dram_written, caches.dram_filled)
