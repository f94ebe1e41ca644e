"""Sends sampled requests through the caches of `simt.engine.caches`: which sectors hit where, what DRAM has to move."""

from __future__ import annotations

import ctypes
import functools
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simt.codegen.jit import Code, compile_ir
from simt.engine.caches import CACHES, WAYS, Caches, Line
from simt.engine.native_compiler import build_module

__all__ = ["COLUMNS", "CacheRun", "CacheSizes", "run_caches"]

LINE_BYTES = 128
COLUMNS = ("requests", "lines", "sectors", "l1_hits", "l2_hits", "l2_misses")


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
        counts: (n_sites, 6) int64, as `COLUMNS`: sectors hit in L1, hit in L2, and missed by both; stores only to L2.
        dram_read, dram_written, dram_filled: sectors; those filled were written in part and read before.
    """

    counts: np.ndarray
    dram_read: int
    dram_written: int
    dram_filled: int


@functools.cache
def _code(cache: Path | None) -> Code:
    return compile_ir(str(build_module(CACHES, name="caches")), level=2, optimise=True, cache=cache)


def run_caches(
    records: np.ndarray, order: np.ndarray, sms: np.ndarray, access: np.ndarray, n_bytes: np.ndarray, sizes: CacheSizes,
    *, private: bool = False, cache: Path | None = None,
) -> CacheRun:  # fmt: skip
    """Sends traced requests through caches that start empty.

    Args:
        records: (n,) of the fields of `TraceRecord`, requests of global memory.
        order: (n,) int64, indices of `records` in the order of time.
        sms: (records,) int64, the SM of each record, below `sizes.sm_count`.
        access, n_bytes: (n_sites,) int32: `Access`, and bytes of one lane.
        private: as if no SM touched another's lines.
        cache: folder that keeps machine code.
    """
    sets = [max(1, size // (LINE_BYTES * WAYS)) for size in (sizes.l1_bytes, sizes.l2_bytes)]
    line = ctypes.sizeof(Line.structure())
    l1 = np.zeros(sets[0] * WAYS * sizes.sm_count * line, np.uint8)
    l2 = np.zeros(sets[1] * WAYS * line, np.uint8)
    counts = np.zeros((len(access), len(COLUMNS)), np.uint64)
    caches = Caches.structure()()
    caches.l1, caches.l2, caches.l1_sets, caches.l2_sets = l1.ctypes.data, l2.ctypes.data, *sets
    caches.counts, caches.access, caches.n_bytes = counts.ctypes.data, access.ctypes.data, n_bytes.ctypes.data
    apart = (sms << 44) if private else np.zeros_like(sms)
    code, pointer = _code(cache), ctypes.c_void_p
    run = ctypes.CFUNCTYPE(None, pointer, pointer, pointer, pointer, pointer, ctypes.c_int64)(code.address("run_records"))
    run(ctypes.addressof(caches), records.ctypes.data, order.ctypes.data, sms.ctypes.data, apart.ctypes.data, len(order))
    ctypes.CFUNCTYPE(None, pointer)(code.address("flush"))(ctypes.addressof(caches))
    return CacheRun(counts.astype(np.int64), caches.dram_read, caches.dram_written, caches.dram_filled)
